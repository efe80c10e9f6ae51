// TLS signature schemes as sets: what a client verifies, what a key makes, what signed a chain.
#pragma once

#include <openssl/evp.h>
#include <openssl/x509.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "crypto/client_hello.h"

namespace pqedge::crypto {

// One bit a scheme of signature_schemes().
using SchemeSet = uint64_t;

struct SignatureScheme {
  std::string_view name;  // as OpenSSL and RFC 8446 4.2.3 spell it
  uint16_t code;          // IANA, TLS SignatureScheme
};
std::span<const SignatureScheme> signature_schemes();

// Codes that we do not know are left out.
SchemeSet scheme_set(U16List codes);
// Of names; all schemes when there are none.
SchemeSet scheme_set(const std::vector<std::string>& names);
// Of a list in OpenSSL's syntax ("mldsa65:ed25519"); all schemes when it is empty.
SchemeSet scheme_set_of_list(std::string_view list);

// What the client can verify, from its ClientHello.
struct ClientSignatures {
  SchemeSet leaf = ~SchemeSet{0};   // what the server may sign the handshake with
  SchemeSet chain = ~SchemeSet{0};  // what may have signed the certificates
};
// signature_algorithms, signature_algorithms_cert (RFC 8446 4.2.3), and in TLS 1.2 the cipher
// suites and groups, which say the rest there.
ClientSignatures client_signatures(const ClientHello& hello);

// The schemes a handshake can be signed with by this key.
SchemeSet schemes_of_key(const EVP_PKEY* key);
// Those that stand for the signature on the certificate: a client that lists one can verify it.
SchemeSet schemes_of_signature(const X509* certificate);

}  // namespace pqedge::crypto
