// A server that has just come back is cold: its share of the requests grows with time.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"

namespace pqedge::upstream {

// Shares of a weight are in units of 1/1024.
inline constexpr uint32_t kWholeShare = 1024;

// Of a server that takes requests since `since`, 0: since the program began. It grows in a straight
// line over `window`, from a tenth, so that the server is seen to work at all.
inline uint32_t slow_start_share(Nanos since, Nanos now, Nanos window) {
  if (window == 0 || since == 0 || now >= since + window) return kWholeShare;
  constexpr uint32_t kLeast = kWholeShare / 10;
  const Nanos passed = now > since ? now - since : 0;
  // In microseconds: the product stays within 64 bits for any window.
  const uint64_t share = uint64_t{kWholeShare} * (passed / 1000) / (window / 1000 + 1);
  return std::max(kLeast, static_cast<uint32_t>(share));
}

}  // namespace pqedge::upstream
