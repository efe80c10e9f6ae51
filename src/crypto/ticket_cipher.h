// AES-256-GCM in the form that OpenSSL's ticket callback can use (T6).
//
// The callback gives the library a cipher and a MAC, and the library calls EncryptUpdate and
// EncryptFinal: nobody appends GCM's tag, or takes it off again. This cipher does both itself: its
// output is longer than its input by the tag, which Final writes, and checks.
#pragma once

#include <openssl/evp.h>

#include <cstddef>

namespace pqedge::crypto {

inline constexpr size_t kTicketKeySize = 32;
inline constexpr size_t kTicketNonceSize = 12;
inline constexpr size_t kTicketTagSize = 16;

// From a provider within this program; made at the first call, kept for the process. Null: the
// library refused (an error is in its queue).
const EVP_CIPHER* ticket_cipher();

}  // namespace pqedge::crypto
