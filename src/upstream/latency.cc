#include "upstream/latency.h"

#include <algorithm>

namespace pqedge::upstream {
namespace {

// After each such time without a sample the average is worth half: one slow answer does not keep a
// server out for long, and a server that is slow gets a request every few seconds to show it.
constexpr Nanos kHalfLife = 1 * kSecond;

}  // namespace

void Latency::observe(Nanos first_byte, Nanos now) {
  const auto sample = static_cast<uint32_t>(
      std::clamp<Nanos>(first_byte / kMicrosecond, 1, Nanos{3600} * 1'000'000));
  const uint32_t old = average(now);
  uint32_t next = sample;
  if (old != 0) {
    // A rise counts for more than a fall: who became slow is to be seen soon.
    next = sample > old ? old + (sample - old) / 2 : old - (old - sample) / 8;
  }
  micros_.store(std::max(next, 1u), std::memory_order_relaxed);
  seen_.store(now, std::memory_order_relaxed);
}

uint32_t Latency::average(Nanos now) const {
  const uint32_t micros = micros_.load(std::memory_order_relaxed);
  if (micros == 0) return 0;
  const Nanos seen = seen_.load(std::memory_order_relaxed);
  const Nanos age = now > seen ? now - seen : 0;
  const Nanos halvings = std::min<Nanos>(age / kHalfLife, 31);
  return std::max(micros >> halvings, 1u);
}

}  // namespace pqedge::upstream
