// When a request that came to nothing is sent again: what a pool says of it, and a route, whose
// word goes first.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/problem.h"
#include "base/time.h"

namespace pqedge::http {

struct RetryConditions {
  bool connect = true;        // no connection came about: nothing was sent
  bool refused = true;        // surely not processed (REFUSED_STREAM, above GOAWAY's last stream)
  bool reset = true;          // the connection broke before an answer
  bool timeout = false;       // no answer in time
  bool server_error = false;  // any status from 500
  std::vector<uint16_t> statuses;

  bool takes(uint16_t status) const;
  friend bool operator==(const RetryConditions&, const RetryConditions&) = default;
};

struct RetrySettings {
  std::optional<RetryConditions> on;
  std::optional<bool> any_method;  // also those that are not idempotent (RFC 9110 9.2.2)
  std::optional<Nanos> backoff;    // before the second try; doubled with each more
  std::optional<Nanos> backoff_max;
  std::optional<uint64_t> keep_body;  // bytes of a body that are kept to be sent again
};

inline constexpr uint32_t kMaxRetries = 10;
inline constexpr uint64_t kMaxKeptBody = 16 * 1024 * 1024;

// `base`: the key of the table that the keys are in.
void check_retry(const RetrySettings& settings, const std::string& base, Problems& out);

}  // namespace pqedge::http
