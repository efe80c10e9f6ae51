// How requests are forwarded: what a pool and a route say of retries, and a route of its time
// limits, buffering and shadow.
#include <format>

#include "base/text.h"
#include "config/section_readers.h"

namespace pqedge::config {
namespace {

void read_optional(Table& t, std::string_view key, std::optional<Nanos>& out) {
  Nanos value = 0;
  t.duration(key, value);
  if (t.has(key)) out = value;
}

std::optional<uint16_t> status_of(std::string_view text) {
  if (text.size() != 3) return std::nullopt;
  uint16_t status = 0;
  for (const char c : text) {
    if (!is_digit(c)) return std::nullopt;
    status = static_cast<uint16_t>(status * 10 + (c - '0'));
  }
  return status;
}

void read_conditions(Table& t, std::optional<http::RetryConditions>& out) {
  constexpr std::string_view kKey = "retry_on";
  http::RetryConditions on{.connect = false, .refused = false, .reset = false};
  t.each_string(kKey, [&](const std::string& path, const std::string& text) {
    if (text == "connect") {
      on.connect = true;
    } else if (text == "refused") {
      on.refused = true;
    } else if (text == "reset") {
      on.reset = true;
    } else if (text == "timeout") {
      on.timeout = true;
    } else if (text == "5xx") {
      on.server_error = true;
    } else if (const auto status = status_of(text)) {
      on.statuses.push_back(*status);
    } else {
      t.problem(
          path, in_quotes(text) + " is no condition",
          "write \"connect\", \"refused\", \"reset\", \"timeout\", \"5xx\" or a status such as "
          "\"503\"");
    }
  });
  if (t.has(kKey)) out = on;
}

void read_retry(Table& t, http::RetrySettings& s) {
  read_conditions(t, s.on);
  bool any_method = false;
  t.read("retry_any_method", any_method);
  if (t.has("retry_any_method")) s.any_method = any_method;
  read_optional(t, "retry_backoff", s.backoff);
  read_optional(t, "retry_backoff_max", s.backoff_max);
  uint64_t keep = 0;
  t.size("retry_body", keep);
  if (t.has("retry_body")) s.keep_body = keep;
}

// Keys that mean nothing without another.
void check_lonely(Table& t, std::initializer_list<const char*> keys, const char* without,
                  bool there) {
  if (there) return;
  for (const char* key : keys) {
    if (t.has(key)) t.problem(t.key_path(key), std::format("has no effect without {}", without));
  }
}

}  // namespace

void read_pool_forward(Table& t, upstream::PoolSettings& s) {
  t.duration("request_timeout", s.request_timeout);
  t.count("retries", s.retries);
  read_retry(t, s.retry);
  t.count("retry_budget", s.retry_budget);
  t.count("retry_floor", s.retry_floor);
}

void read_route_forward(Table& t, route::ForwardSettings& s) {
  read_optional(t, "connect_timeout", s.connect_timeout);
  read_optional(t, "response_timeout", s.response_timeout);
  read_optional(t, "read_timeout", s.read_timeout);
  read_optional(t, "request_timeout", s.request_timeout);
  uint32_t retries = 0;
  t.count("retries", retries);
  if (t.has("retries")) s.retries = retries;
  read_retry(t, s.retry);
  t.duration("hedge_after", s.hedge_after);
  t.size("buffer_request", s.buffer_request);
  t.size("buffer_response", s.buffer_response);
  t.read("shadow_pool", s.shadow_pool);
  t.count("shadow_percent", s.shadow_percent);
  t.size("shadow_body", s.shadow_body);
  t.count("shadow_requests", s.shadow_requests);

  check_lonely(t, {"shadow_percent", "shadow_body", "shadow_requests"}, "shadow_pool",
               t.has("shadow_pool"));
  check_lonely(t,
               {"connect_timeout", "response_timeout", "read_timeout", "request_timeout", "retries",
                "retry_on", "retry_any_method", "retry_backoff", "retry_backoff_max", "retry_body",
                "hedge_after", "buffer_request", "buffer_response", "shadow_pool"},
               "pool", t.has("pool"));
}

}  // namespace pqedge::config
