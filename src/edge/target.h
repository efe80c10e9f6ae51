// Where an exchange goes and under which limits: what its route says over what the pool says,
// resolved when the configuration loads.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/time.h"
#include "edge/retry.h"
#include "route/settings.h"
#include "upstream/settings.h"

namespace pqedge::edge {

struct Target {
  size_t pool = SIZE_MAX;  // index into Snapshot::settings.pools; SIZE_MAX: nowhere

  Nanos connect_limit = 0;  // the route's own; 0: the pool's alone
  Nanos response_timeout = 0;
  Nanos read_timeout = 0;
  Nanos request_timeout = 0;  // 0: no limit
  Nanos hedge_after = 0;      // 0: never
  size_t buffer_request = 0;
  size_t buffer_response = 0;
  RetryPolicy retry;
};

Target make_target(size_t index, const upstream::PoolSettings& pool,
                   const route::ForwardSettings& route);

// Copies of a route's requests (R14).
struct ShadowPlan {
  size_t pool = SIZE_MAX;  // SIZE_MAX: none are made
  uint32_t percent = 100;
  size_t max_body = 0;
  uint32_t at_a_time = 0;  // in the process
  Nanos timeout = 0;       // of each, from its begin to its answer's end
  std::shared_ptr<std::atomic<uint32_t>> running;
};

ShadowPlan make_shadow_plan(size_t index, const upstream::PoolSettings& pool,
                            const route::ForwardSettings& route);

}  // namespace pqedge::edge
