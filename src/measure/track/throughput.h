// How often a second many threads together do a whole exchange (M24).
#pragma once

#include <atomic>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "measure/timing/sampler.h"

namespace pqedge::measure {

struct Throughput {
  unsigned threads = 0;
  double per_second = 0;
  double per_second_per_thread = 0;
};

// One thread an exchange, each pinned to one of `cores` in turn, all started together. A thread
// that is in the middle of an exchange when the time is over ends it; its rate counts until then.
// The calling thread must not be pinned itself (CorePin). ECANCELED when cancelled.
Result<Throughput> throughput(std::span<const Operation> exchanges, std::span<const int> cores,
                              Nanos time, const std::atomic<bool>* cancel);

// 1, 2, 3, ... up to 8 threads, then doubling; `most` is always among them. None for 0.
std::vector<unsigned> thread_counts(unsigned most);

}  // namespace pqedge::measure
