// Asks the operator's URL whether a name may have a certificate.
#pragma once

#include <memory>
#include <string>

#include "jobs/acme/http.h"
#include "jobs/acme/settings.h"

namespace pqedge::acme {

enum class Permission : uint8_t { allowed, denied, unknown };  // unknown: no answer

class Asker {
 public:
  Asker(const OnDemandSettings& settings, const std::atomic<bool>& stop)
      : settings_(settings), stop_(stop) {}
  // `host` is a host name, checked.
  Permission ask(const std::string& host);

 private:
  const OnDemandSettings& settings_;
  const std::atomic<bool>& stop_;
  std::unique_ptr<HttpClient> http_;
};

}  // namespace pqedge::acme
