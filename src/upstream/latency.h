// How long a server takes to answer, as a moving average that all workers share.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/time.h"

namespace pqedge::upstream {

// Time to the first byte, in microseconds. An old value counts less the longer ago it was seen, so
// that a server which was slow once is tried again; a rise counts for more than a fall. Relaxed: a
// lost update is one sample of many.
class Latency {
 public:
  void observe(Nanos first_byte, Nanos now);
  // Microseconds, at least 1; 0: nothing was seen yet.
  uint32_t average(Nanos now) const;

 private:
  std::atomic<uint32_t> micros_{0};
  std::atomic<Nanos> seen_{0};
};

}  // namespace pqedge::upstream
