// Whether a request that came to nothing is sent again, and when (R15).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/time.h"
#include "http/forwarding.h"
#include "http/message.h"
#include "http/stream.h"

namespace pqedge::edge {

// What became of a try.
enum class Fault : uint8_t {
  no_connection,    // nothing was sent
  refused,          // surely not processed, or no byte of it went out
  dead_connection,  // a kept connection had died: no byte of an answer came
  reset,            // the connection broke before an answer
  timeout,          // no answer in time
  status,           // one of those that the settings name
  invalid           // an answer, but none that can be passed on: never sent again
};
inline constexpr size_t kFaults = 7;

// Of a stream that broke before its answer's head.
Fault fault_of(http::Abort why, bool unanswered, bool sent, bool reused);

// A route's settings over those of its pool.
struct RetryPolicy {
  uint32_t retries = 1;
  http::RetryConditions on;
  bool any_method = false;
  Nanos backoff = 25 * kMillisecond;
  Nanos backoff_max = 250 * kMillisecond;
  size_t keep_body = 64 * 1024;
};

// One request's tries so far.
struct Tries {
  uint8_t begun = 0;
  uint8_t free = 0;  // of those begun, that said nothing of the request or the servers
};

// The rules: what was surely not processed goes again whatever its method; what may have been, only
// where the method may be repeated (RFC 9110 9.2.2) or the settings say so. `servers`: of the pool.
// The body is the caller's question.
bool may_try_again(const RetryPolicy& policy, Fault fault, uint16_t status, http::Method method,
                   const Tries& tries, size_t servers);

// These say nothing of the servers' load: they go again at once, outside the budget.
bool is_free(Fault fault);

// How long to wait before the next try: doubled with each, half of it drawn.
Nanos backoff(const RetryPolicy& policy, uint8_t tries_begun);

// At most so many percent of the requests of the last ten seconds are sent again, and so many a
// second in any case: when all servers fail, retries do not multiply the load. One worker's, for
// one pool.
class RetryBudget {
 public:
  RetryBudget(uint32_t percent, uint32_t floor_a_second, uint32_t workers);

  void note_request(Nanos now) { ++at(now).requests; }
  // Takes one retry out of it. False: it is spent.
  bool take(Nanos now);

 private:
  static constexpr uint64_t kSeconds = 10;
  struct Second {
    uint64_t number = 0;
    uint32_t requests = 0;
    uint32_t retries = 0;
  };
  Second& at(Nanos now) {
    const uint64_t number = now / kSecond;
    Second& s = seconds_[number % kSeconds];
    if (s.number != number) s = {.number = number};
    return s;
  }

  std::array<Second, kSeconds> seconds_{};
  uint32_t percent_;
  uint32_t floor_;  // in ten seconds
};

}  // namespace pqedge::edge
