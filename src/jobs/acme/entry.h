// One certificate to be had and to be kept fresh.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "jobs/acme/certificate_request.h"
#include "jobs/acme/messages.h"

namespace pqedge::acme {

struct Entry {
  std::string id;
  std::vector<std::string> names;
  bool on_demand = false;
  bool is_default = false;

  // Of the service, under its lock. Monotonic.
  Nanos due = 0;
  bool busy = false;
  bool removed = false;

  // Of the thread that attends to it.
  std::optional<Validity> validity;  // of the certificate in use; none: there is none
  int64_t version = 0;               // of the file it was read from
  double share_random = 0;           // drawn for each certificate, so that its time stays the same
  std::optional<RenewalInfo> window;
  double window_at = 0;      // drawn from the window; Unix seconds
  Nanos next_poll = 0;       // of renewal information
  Nanos window_renewed = 0;  // when the window last made it be renewed; 0: never
  uint32_t failures = 0;     // in a row
  Nanos retry_at = 0;

  std::string title() const {
    std::string out = names.front();
    if (names.size() > 1) out += " and " + std::to_string(names.size() - 1) + " more";
    return out;
  }
};

}  // namespace pqedge::acme
