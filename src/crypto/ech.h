// Encrypted Client Hello for servers (RFC 9849): where OpenSSL has it (4.0 and later). ech.cc is
// the code, ech_absent.cc stands for it in a build against an older one; each is empty in the
// other.
#pragma once

#include <openssl/opensslv.h>
#include <openssl/ssl.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/problem.h"
#include "base/result.h"
#include "crypto/settings.h"
#include "net/facts.h"

#if OPENSSL_VERSION_MAJOR >= 4 && !defined(OPENSSL_NO_ECH)
#define PQEDGE_HAS_ECH 1
#else
#define PQEDGE_HAS_ECH 0
#endif

namespace pqedge::crypto {

inline constexpr bool kHasEch = PQEDGE_HAS_ECH == 1;

// The text of the settings. Keys are "tls.ech...".
Problems validate(const EchSettings& settings);
// And their files: each is read, and must hold a private key with an ECHConfig for the public name;
// no two may have the same configuration ID, by which a client's hello names its key.
Problems check_files(const EchSettings& settings, bool strict_key_files);

// Gives the keys to a context, if there are any.
Result<void> install_ech(SSL_CTX* context, const EchSettings& settings, bool strict_key_files);

// In the ClientHello callback: what became of the hello.
net::EchUse ech_use(SSL* ssl);
// In the ClientHello callback: the hello that OpenSSL goes by, written anew as a message with its
// header. Extensions that OpenSSL does not know are not in it.
std::vector<uint8_t> current_hello(SSL* ssl);

}  // namespace pqedge::crypto
