// One order from its beginning to the certificate (RFC 8555 7.4, 7.5 and 8).
#pragma once

#include <string>
#include <vector>

#include "crypto/certificates.h"
#include "jobs/acme/session.h"

namespace pqedge::acme {

// Makes the answer to a challenge visible to the CA, and takes it away again. Called on the threads
// of the service; what is added must be in force on every worker when the call returns.
class Responder {
 public:
  virtual ~Responder() = default;
  virtual Result<void> add_token(const std::string& token, const std::string& answer) = 0;
  virtual void remove_token(const std::string& token) = 0;
  virtual Result<void> add_challenge(const std::string& name, const crypto::PemPair& pem) = 0;
  virtual void remove_challenge(const std::string& name) = 0;
};

struct OrderRequest {
  std::vector<std::string> names;
  std::string replaces;  // RFC 9773 5: the renewal ID of its predecessor; may be empty
};
// Private key, certificate and intermediates in PEM, checked against the request. To be wiped by
// the caller. Blocks for as long as the CA takes, within limits.
Outcome<std::string> obtain(Session& session, Responder& responder, const OrderRequest& request);

}  // namespace pqedge::acme
