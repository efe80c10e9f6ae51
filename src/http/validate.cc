#include "http/validate.h"

#include "http/names.h"

namespace pqedge::http {

Problems validate(const Limits& l) {
  constexpr uint64_t kKiB = 1024;
  constexpr uint64_t kMiB = 1024 * kKiB;
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
  for (size_t i = 0; i < settings.protected_fields.size(); ++i) {
    const std::string& name = settings.protected_fields[i];
    const std::string key = entry_key("identity.protected_fields", i);
    const Name id = known_name(name);
    if (!is_token(name)) {
      out.push_back({key, in_quotes(name) + " is no name of a header field",
                     "write it as in \"X-Authenticated-User\""});
    } else if (id == Name::cookie || id == Name::host || id == Name::content_length ||
               id == Name::authorization) {
      out.push_back({key, in_quotes(name) + " is a field that clients have to send",
                     "request_headers of a route can take it out"});
    }
  }
  return out;
}

}  // namespace pqedge::http
