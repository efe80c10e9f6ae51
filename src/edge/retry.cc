#include "edge/retry.h"

#include <algorithm>
#include <random>

namespace pqedge::edge {
namespace {

// A pool whose servers all refuse, or close each kept connection, is not asked for ever.
constexpr uint32_t kMaxFree = 4;
// Servers that are asked in turn for a connection, where there are more.
constexpr size_t kMaxServers = 10;

uint64_t draw(uint64_t below) {
  thread_local std::minstd_rand random{std::random_device{}()};
  return below == 0 ? 0 : (uint64_t{random()} << 20 ^ random()) % below;
}

}  // namespace

Fault fault_of(http::Abort why, bool unanswered, bool sent, bool reused) {
  if (unanswered && (why == http::Abort::refused || !sent)) return Fault::refused;
  if (unanswered && reused) return Fault::dead_connection;
  switch (why) {
    case http::Abort::connection_lost:
    case http::Abort::cancelled: return Fault::reset;
    case http::Abort::timed_out: return Fault::timeout;
    default: return Fault::invalid;
  }
}

bool is_free(Fault fault) {
  return fault == Fault::no_connection || fault == Fault::refused ||
         fault == Fault::dead_connection;
}

bool may_try_again(const RetryPolicy& policy, Fault fault, uint16_t status, http::Method method,
                   const Tries& tries, size_t servers) {
  const bool repeatable = policy.any_method || http::is_idempotent(method);
  const uint32_t counted = tries.begun - std::min(tries.begun, tries.free);
  switch (fault) {
    case Fault::no_connection: {
      const size_t others = std::min(servers == 0 ? 0 : servers - 1, kMaxServers);
      return policy.on.connect && counted <= std::max<size_t>(policy.retries, others);
    }
    case Fault::refused: return policy.on.refused && tries.free <= kMaxFree;
    case Fault::dead_connection:
      // It says nothing of the server: one more try than the settings allow.
      return repeatable && tries.free <= kMaxFree;
    case Fault::reset: return policy.on.reset && repeatable && counted <= policy.retries;
    case Fault::timeout: return policy.on.timeout && repeatable && counted <= policy.retries;
    case Fault::status: return policy.on.takes(status) && repeatable && counted <= policy.retries;
    case Fault::invalid: return false;
  }
  return false;
}

Nanos backoff(const RetryPolicy& policy, uint8_t tries_begun) {
  const uint32_t doublings = std::min<uint32_t>(tries_begun == 0 ? 0 : tries_begun - 1u, 16);
  const Nanos whole = std::min(policy.backoff << doublings, policy.backoff_max);
  return whole / 2 + draw(whole / 2 + 1);
}

RetryBudget::RetryBudget(uint32_t percent, uint32_t floor_a_second, uint32_t workers)
    : percent_(percent),
      floor_(floor_a_second == 0
                 ? 0
                 : std::max<uint32_t>(1, floor_a_second * kSeconds / std::max(workers, 1u))) {}

bool RetryBudget::take(Nanos now) {
  Second& current = at(now);
  const uint64_t oldest = now / kSecond < kSeconds ? 0 : now / kSecond - kSeconds + 1;
  uint64_t requests = 0;
  uint64_t retries = 0;
  for (const Second& s : seconds_) {
    if (s.number < oldest) continue;
    requests += s.requests;
    retries += s.retries;
  }
  if (retries >= floor_ + requests * percent_ / 100) return false;
  ++current.retries;
  return true;
}

}  // namespace pqedge::edge
