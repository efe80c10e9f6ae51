// How long a thread of ACME waits for the next thing to do.
#pragma once

#include <algorithm>
#include <chrono>

#include "base/time.h"

namespace pqedge::acme {

// From `now` until `when`, both of the monotonic clock; at most a minute, since a thread that waits
// looks at what changed meanwhile, too.
inline std::chrono::nanoseconds sleep_until(Nanos when, Nanos now) {
  constexpr Nanos kMost = 60 * kSecond;
  return std::chrono::nanoseconds(when <= now ? 0 : std::min(when - now, kMost));
}

}  // namespace pqedge::acme
