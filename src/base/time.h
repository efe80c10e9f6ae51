// Time as the data path sees it: nanoseconds of CLOCK_MONOTONIC, read once a turn by the loop.
#pragma once

#include <cstdint>
#include <ctime>

namespace pqedge {

using Nanos = uint64_t;  // a point on CLOCK_MONOTONIC, or a distance, in nanoseconds
inline constexpr Nanos kMicrosecond = 1'000;
inline constexpr Nanos kMillisecond = 1'000'000;
inline constexpr Nanos kSecond = 1'000'000'000;
inline constexpr Nanos kHour = 3600 * kSecond;
inline constexpr Nanos kDay = 24 * kHour;
inline constexpr Nanos kNever = UINT64_MAX;

inline Nanos monotonic_now() {
  timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return static_cast<Nanos>(ts.tv_sec) * kSecond + static_cast<Nanos>(ts.tv_nsec);
}

// Wall-clock nanoseconds since the Unix epoch, for logs, `Date` and certificate validity.
inline Nanos wall_now() {
  timespec ts;
  clock_gettime(CLOCK_REALTIME, &ts);
  return static_cast<Nanos>(ts.tv_sec) * kSecond + static_cast<Nanos>(ts.tv_nsec);
}

}  // namespace pqedge
