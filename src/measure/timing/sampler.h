// Timing one operation in its own loop (M6): set-up is outside the timed region, warm-ups are not
// counted, and the loop ends at a count or at a time, whichever comes first.
#pragma once

#include <atomic>
#include <cerrno>
#include <functional>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace pqedge::measure {

// The cancel flag is set by a signal handler: what was measured until then is kept.
struct SamplingLimits {
  size_t warm_ups = 50;
  size_t iterations = 1000;
  size_t least = 10;         // taken even beyond the time
  Nanos time = 5 * kSecond;  // of the timed loop with its preparations, warm-ups apart
  // Warm-ups end at their count or after this: 50 of an SLH-DSA signature would take a minute. One
  // is always done.
  Nanos warm_up_time = 5 * kSecond;
  const std::atomic<bool>* cancel = nullptr;
  // An operation whose median is shorter than so many steps of the clock is refused: its samples
  // would be the clock's steps. It is not batched either, since means of batches have other
  // percentiles than single operations. 0: not looked at.
  double least_clock_steps = 20;
};

// `prepare` makes what `run` consumes (a fresh ciphertext, say) and is not timed; it may be empty.
// Both return an error to end the measurement; `run` does the operation exactly once.
struct Operation {
  std::function<Result<void>()> prepare;
  std::function<Result<void>()> run;
};

// Microseconds of each iteration, in the order taken, the clock's own overhead subtracted (never
// below zero). Cancelled before `least` samples, or failed at any: an error.
Result<std::vector<double>> sample(const Operation& operation, const SamplingLimits& limits);

// For the error when a measurement was cancelled: not the operation's fault.
inline constexpr int kCancelledCode = ECANCELED;  // Error::code

// Of the clock that sample() reads: both are measured anew once a process, at the first call.
struct ClockFacts {
  const char* source;        // "CLOCK_MONOTONIC", or what is used
  double resolution_ns = 0;  // the smallest step seen between two readings that differ
  double overhead_ns = 0;    // the median cost of one reading
};
const ClockFacts& clock_facts();

}  // namespace pqedge::measure
