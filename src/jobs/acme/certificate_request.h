// What is made for the CA: keys, certificate requests, the certificate of tls-alpn-01. And what is
// read from its answer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "crypto/certificates.h"
#include "jobs/acme/settings.h"

namespace pqedge::acme {

struct Request {
  std::string key_pem;  // to be wiped when it is written
  std::string csr;      // DER
};
Result<Request> make_request(const std::vector<std::string>& names, KeyType type);

// RFC 8737 3: self-signed, for the name alone, with the digest of the key authorization.
Result<crypto::PemPair> make_challenge_certificate(const std::string& name,
                                                   std::string_view key_authorization);

// What renewal needs to know of a certificate that is in use.
struct Validity {
  int64_t not_before = 0;  // Unix seconds
  int64_t not_after = 0;
  std::string renewal_id;  // RFC 9773 4.1; empty when the certificate names no issuer's key
};
// `pem` holds key and chain. An error where it does not serve all of `names`, where key and
// certificate do not fit each other, or the key is of another kind.
Result<Validity> check_issued(std::string_view pem, const std::string& what,
                              const std::vector<std::string>& names, KeyType type);

std::string_view to_text(KeyType type);

}  // namespace pqedge::acme
