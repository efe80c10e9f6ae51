// AES-256-GCM in the form that OpenSSL's ticket callback can use (T6).
//
// The callback gives the library a cipher and a MAC, and the library calls EncryptUpdate and
// EncryptFinal: nobody appends GCM's tag, or takes it off again. This cipher does both itself: its
// output is longer than its input by the tag, which Final writes, and checks.
//
// With an ML-KEM-1024 key in its parameters it seals each ticket under a key of its own, which is
// encapsulated in the ticket (docs/internals/ticket-keys.md). The library leaves no room for that
// ciphertext, so the session brings it along: a placeholder of its size, in the ticket's
// application data, whose place the ciphertext takes.
#pragma once

#include <openssl/evp.h>
#include <openssl/params.h>

#include <cstddef>
#include <cstdint>

#include "crypto/kem.h"

namespace pqedge::crypto {

inline constexpr size_t kTicketKeySize = 32;
inline constexpr size_t kTicketNonceSize = 12;
inline constexpr size_t kTicketTagSize = 16;

// From a provider within this program; made at the first call, kept for the process. Null: the
// library refused (an error is in its queue).
const EVP_CIPHER* ticket_cipher();

// Parameters for EVP_EncryptInit_ex2() and EVP_DecryptInit_ex2(): the cipher keeps a reference to
// `key`. Lives as long as the call.
class TicketKemParameters {
 public:
  explicit TicketKemParameters(EVP_PKEY* key);
  const OSSL_PARAM* get() const { return params_; }

 private:
  void* key_;
  OSSL_PARAM params_[2];
};

}  // namespace pqedge::crypto
