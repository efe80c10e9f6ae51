// CPU time of processes and of cores, read from /proc.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "measure/load/options.h"

namespace pqedge::measure::load {

// Seconds. The kernel accounts the sum to the nanosecond and samples the split by its clock tick
// (250 Hz here and there): over a window of seconds the split is good to a few percent.
struct CpuTime {
  double user = 0;
  double system = 0;
  double total() const { return user + system; }
  CpuTime operator-(const CpuTime& other) const {
    return {user - other.user, system - other.system};
  }
};

// All threads of this process.
CpuTime own_cpu_time();

// All threads of some processes; one that is gone counts nothing.
CpuTime cpu_time(const std::vector<pid_t>& processes);

// Seconds that a core spent since boot.
struct CoreTime {
  double busy = 0;  // user, system, interrupts
  double idle = 0;
  double stolen = 0;  // by the hypervisor
};
std::map<int, CoreTime> core_times();

}  // namespace pqedge::measure::load
