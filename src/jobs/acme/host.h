// What the service needs of the program around it. Called on the service's threads; each call
// returns when every worker acts on it.
#pragma once

#include <string>
#include <vector>

#include "jobs/acme/order.h"

namespace pqedge::acme {

// A certificate of the storage. Its text holds a private key: wiped with it.
struct Stored {
  std::string id;
  std::vector<std::string> names;
  bool is_default = false;
  std::string pem;  // key, certificate, intermediates; empty: there is none yet

  Stored() = default;
  Stored(Stored&&) = default;
  Stored& operator=(Stored&&) = default;
  ~Stored() { OPENSSL_cleanse(pem.data(), pem.size()); }
};

class Host : public Responder {
 public:
  virtual Result<void> publish(const Stored& certificate) = 0;
  virtual void withdraw(const std::string& id) = 0;
};

}  // namespace pqedge::acme
