#include "http/forwarding.h"

#include <algorithm>
#include <format>

namespace pqedge::http {

bool RetryConditions::takes(uint16_t status) const {
  return (server_error && status >= 500) || std::ranges::find(statuses, status) != statuses.end();
}

void check_retry(const RetrySettings& settings, const std::string& base, Problems& out) {
  constexpr Nanos kMinute = 60 * kSecond;
  if (settings.on) {
    for (size_t i = 0; i < settings.on->statuses.size(); ++i) {
      const uint16_t status = settings.on->statuses[i];
      if (status >= 400 && status <= 599) continue;
      out.push_back({base + ".retry_on", std::format("{} is the status of no failure", status),
                     "400 to 599 can be sent again"});
    }
  }
  if (settings.backoff) {
    check_duration(out, base + ".retry_backoff", *settings.backoff, 0, kMinute);
  }
  if (settings.backoff_max) {
    check_duration(out, base + ".retry_backoff_max", *settings.backoff_max, 0, kMinute);
  }
  if (settings.keep_body) {
    check_size(out, base + ".retry_body", *settings.keep_body, 0, kMaxKeptBody);
  }
}

}  // namespace pqedge::http
