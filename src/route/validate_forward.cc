#include "route/validate_forward.h"

namespace pqedge::route {
namespace {

constexpr uint64_t kMaxBuffer = 64 * 1024 * 1024;

void check_time(const std::optional<Nanos>& value, const std::string& key, Nanos least,
                Problems& out) {
  if (value) check_duration(out, key, *value, least, kDay);
}

}  // namespace

void check_forward(const ForwardSettings& s, const std::string& base, Problems& out) {
  check_time(s.connect_timeout, base + ".connect_timeout", kMillisecond, out);
  check_time(s.response_timeout, base + ".response_timeout", kMillisecond, out);
  check_time(s.read_timeout, base + ".read_timeout", kMillisecond, out);
  check_time(s.request_timeout, base + ".request_timeout", 0, out);
  if (s.retries) check_count(out, base + ".retries", *s.retries, 0, http::kMaxRetries);
  http::check_retry(s.retry, base, out);
  check_duration(out, base + ".hedge_after", s.hedge_after, 0, kDay);
  check_size(out, base + ".buffer_request", s.buffer_request, 0, kMaxBuffer);
  check_size(out, base + ".buffer_response", s.buffer_response, 0, kMaxBuffer);
  check_count(out, base + ".shadow_percent", s.shadow_percent, 0, 100);
  check_size(out, base + ".shadow_body", s.shadow_body, 0, kMaxBuffer);
  check_count(out, base + ".shadow_requests", s.shadow_requests, 1, 100'000);
  if (s.hedge_after != 0 && s.response_timeout && s.hedge_after >= *s.response_timeout) {
    out.push_back({base + ".hedge_after",
                   "is not shorter than response_timeout: a second server would never be asked", "",
                   base + ".response_timeout"});
  }
}

}  // namespace pqedge::route
