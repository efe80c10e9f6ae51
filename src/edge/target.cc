#include "edge/target.h"

#include <algorithm>

namespace pqedge::edge {
namespace {

RetryPolicy make_policy(const upstream::PoolSettings& pool, const route::ForwardSettings& route) {
  RetryPolicy p;
  p.retries = route.retries.value_or(pool.retries);
  for (const http::RetrySettings* s : {&pool.retry, &route.retry}) {  // the later goes first
    if (s->on) p.on = *s->on;
    p.any_method = s->any_method.value_or(p.any_method);
    p.backoff = s->backoff.value_or(p.backoff);
    if (s->backoff && !s->backoff_max) p.backoff_max = 10 * p.backoff;
    p.backoff_max = s->backoff_max.value_or(p.backoff_max);
    p.keep_body = s->keep_body.value_or(p.keep_body);
  }
  // What was gathered before a server was asked is here anyhow.
  p.keep_body = std::max(p.keep_body, static_cast<size_t>(route.buffer_request));
  return p;
}

}  // namespace

Target make_target(size_t index, const upstream::PoolSettings& pool,
                   const route::ForwardSettings& route) {
  return {.pool = index,
          .connect_limit = route.connect_timeout.value_or(0),
          .response_timeout = route.response_timeout.value_or(pool.response_timeout),
          .read_timeout = route.read_timeout.value_or(pool.read_timeout),
          .request_timeout = route.request_timeout.value_or(pool.request_timeout),
          .hedge_after = route.hedge_after,
          .buffer_request = route.buffer_request,
          .buffer_response = route.buffer_response,
          .retry = make_policy(pool, route)};
}

ShadowPlan make_shadow_plan(size_t index, const upstream::PoolSettings& pool,
                            const route::ForwardSettings& route) {
  return {.pool = index,
          .percent = route.shadow_percent,
          .max_body = route.shadow_body,
          .at_a_time = route.shadow_requests,
          .timeout = pool.request_timeout != 0 ? pool.request_timeout : pool.response_timeout,
          .running = std::make_shared<std::atomic<uint32_t>>(0)};
}

}  // namespace pqedge::edge
