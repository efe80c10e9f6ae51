#include "http/validate.h"

#include "http/names.h"

namespace pqedge::http {

Problems validate(const Limits& l) {
  constexpr uint64_t kKiB = 1024;
  constexpr uint64_t kMiB = 1024 * kKiB;
  constexpr Nanos kDay = 86400 * kSecond;
  Problems out;
  check_size(out, "limits.max_target", l.max_target, 256, kMiB);
  check_size(out, "limits.max_head", l.max_head, kKiB, kMiB);
  check_count(out, "limits.max_fields", l.max_fields, 8, 10'000);
  check_size(out, "limits.max_trailers", l.max_trailers, 0, kMiB);
  check_count(out, "limits.max_requests", l.max_requests, 1, 1'000'000'000);
  check_count(out, "limits.max_streams", l.max_streams, 1, 10'000);
  check_size(out, "limits.max_response_head", l.max_response_head, kKiB, kMiB);
  // The window that HTTP/2 starts with is 65,535 bytes (RFC 9113 6.5.2), and 2^31 - 1 the largest.
  check_size(out, "limits.body_window", l.body_window, 64 * kKiB, 1024 * kMiB);
  check_size(out, "limits.connection_window", l.connection_window, l.body_window, 1024 * kMiB);
  check_duration(out, "timeouts.header", l.header_timeout, 10 * kMillisecond, kDay);
  check_duration(out, "timeouts.idle", l.idle_timeout, 10 * kMillisecond, kDay);
  check_duration(out, "timeouts.body", l.body_timeout, 10 * kMillisecond, kDay);
  check_duration(out, "timeouts.send", l.send_timeout, 10 * kMillisecond, kDay);
  check_duration(out, "timeouts.linger", l.linger_timeout, 0, kDay);
  return out;
}

Problems validate(const IdentitySettings& settings) {
  Problems out;
  // A pseudonym is a token (RFC 9110 7.6.3).
  if (!is_token(settings.via)) {
    out.push_back({"identity.via", in_quotes(settings.via) + " is not a token",
                   "use letters, digits, '-', '.' and '_'"});
  }
  return out;
}

}  // namespace pqedge::http
