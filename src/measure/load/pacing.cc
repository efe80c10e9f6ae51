#include "measure/load/pacing.h"

namespace pqedge::measure::load {

Schedule::Schedule(Nanos start, double rate, bool poisson)
    : start_(start), gap_(static_cast<double>(kSecond) / rate), poisson_(poisson), next_(start) {}

Nanos Schedule::take(Nanos now) {
  if (next_ > now) return kNever;
  const Nanos appointed = next_;
  advance();
  return appointed;
}

void Schedule::advance() {
  ++taken_;
  if (poisson_) {
    elapsed_ += std::exponential_distribution<double>(1 / gap_)(random_);
  } else {
    // From the count, not by adding gaps: a rounding error must not add up to a wrong rate.
    elapsed_ = static_cast<double>(taken_) * gap_;
  }
  next_ = start_ + static_cast<Nanos>(elapsed_);
}

}  // namespace pqedge::measure::load
