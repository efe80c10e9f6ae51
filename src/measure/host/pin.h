// One core for the whole measurement: a process that wanders loses its caches on the way.
#pragma once

#include <sched.h>

#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pqedge::measure {

// The cores that this thread may run on, ascending.
Result<std::vector<int>> allowed_cores();

// The default: the highest-numbered allowed core. Core 0 takes more of the kernel's own work and,
// on most machines, more interrupts.
int default_core(const std::vector<int>& allowed);

// Pins the calling thread to `core`, and reads back that it took effect and where it runs.
Result<void> pin_thread(int core);

// Pins the calling thread, and with it the threads it starts, until the object ends; then the cores
// it had before are allowed again. Throughput over many threads is measured outside of one.
class CorePin {
 public:
  // Without a number: default_core(). A core that is not allowed is an error that names those that
  // are.
  static Result<CorePin> take(std::optional<int> core = std::nullopt);
  CorePin(CorePin&& other) noexcept;
  CorePin& operator=(CorePin&&) = delete;
  ~CorePin();

  int core() const { return core_; }
  const std::vector<int>& allowed_before() const { return allowed_before_; }

 private:
  CorePin(int core, std::vector<int> allowed_before)
      : core_(core), allowed_before_(std::move(allowed_before)) {}
  int core_;
  std::vector<int> allowed_before_;  // empty: moved from
};

}  // namespace pqedge::measure
