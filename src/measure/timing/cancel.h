// Ctrl-C keeps what was measured: the first SIGINT or SIGTERM sets a flag that loops look at, the
// second ends the process at once.
#pragma once

#include <atomic>

namespace pqedge::measure {

// At most one at a time in a process. System calls that wait are interrupted (EINTR).
class CancelOnSignal {
 public:
  CancelOnSignal();
  ~CancelOnSignal();  // the handlers from before are back
  CancelOnSignal(const CancelOnSignal&) = delete;
  CancelOnSignal& operator=(const CancelOnSignal&) = delete;

  const std::atomic<bool>* flag() const;  // for SamplingLimits::cancel
  bool cancelled() const { return flag()->load(std::memory_order_relaxed); }
  int signal() const;  // that came, or 0
  // 128 and the signal's number, as shells count; 0 when none came.
  int exit_status() const { return signal() == 0 ? 0 : 128 + signal(); }
};

}  // namespace pqedge::measure
