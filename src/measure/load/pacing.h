// When the requests of an open loop are due.
#pragma once

#include <cstdint>
#include <random>

#include "base/time.h"

namespace pqedge::measure::load {

// A schedule that does not know the answers: the times are fixed in advance by the rate alone, so a
// server that stalls does not slow the clock by which it is measured (coordinated omission).
class Schedule {
 public:
  // `rate` requests a second, the first at `start`. With `poisson` the gaps are exponential, from a
  // fixed seed, so that two runs offer the same times.
  Schedule(Nanos start, double rate, bool poisson);

  // The time of the next request that was not taken yet.
  Nanos next() const { return next_; }

  // Takes the next request if it is due: its appointed time, else kNever.
  Nanos take(Nanos now);

 private:
  void advance();

  Nanos start_;
  double gap_;  // ns
  bool poisson_;
  std::mt19937_64 random_{20260101};
  double elapsed_ = 0;  // ns from the start to next_
  uint64_t taken_ = 0;
  Nanos next_;
};

}  // namespace pqedge::measure::load
