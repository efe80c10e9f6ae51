// A token bucket on the loop's clock.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"

namespace pqedge::quic {

class RateLimit {
 public:
  RateLimit(uint64_t per_second, uint64_t burst)
      : interval_(kSecond / per_second), burst_(burst), tokens_(burst) {}

  // Takes `cost` tokens; false, and nothing taken, when there are not as many.
  bool take(Nanos now, uint64_t cost = 1) {
    refill(now);
    if (tokens_ < cost) return false;
    tokens_ -= cost;
    return true;
  }

 private:
  void refill(Nanos now) {
    if (now <= filled_at_) return;
    const uint64_t earned = (now - filled_at_) / interval_;
    if (earned == 0) return;
    tokens_ = earned >= burst_ - tokens_ ? burst_ : tokens_ + earned;
    filled_at_ += earned * interval_;
  }

  Nanos interval_;
  uint64_t burst_;
  uint64_t tokens_;
  Nanos filled_at_ = 0;
};

}  // namespace pqedge::quic
