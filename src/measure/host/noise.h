// What else the machine did while a run lasted (M9): begin() before it, mark() now and then, end()
// after it. Each takes about 10 ms, and none of them belongs into a timed region.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "measure/host/files.h"
#include "measure/record/record.h"

namespace pqedge::measure {

// CPU time since the machine started, of one line of /proc/stat, in clock ticks. Guests' time is in
// user and nice already (proc_stat(5)).
struct CpuTicks {
  uint64_t total = 0;
  uint64_t idle = 0;  // idle and iowait
  uint64_t steal = 0;
  uint64_t busy() const { return total - idle - steal; }
};
// `name` is "cpu" (all cores) or "cpu3".
std::optional<CpuTicks> cpu_ticks(std::string_view proc_stat, std::string_view name);

// A fixed work of dependent integer arithmetic, about 0.4 ms: on an undisturbed core it takes the
// same number of cycles each time, whatever the cryptography does. Its result is always the same.
uint64_t reference_work();
// The median microseconds of 25 of them.
double time_reference_work();

class NoiseMonitor {
 public:
  struct Sources {  // of what is read; a test gives its own
    HostFiles files;
    std::function<double()> reference = time_reference_work;  // microseconds
    std::function<double()> own_cpu_seconds;             // empty: this process and its children
    std::function<uint64_t()> own_involuntary_switches;  // empty: of this process
    std::function<Nanos()> now = monotonic_now;
    std::optional<Nanos> started;  // none: when this program was loaded
  };

  // `core` is the one the process is pinned to.
  static NoiseMonitor begin(std::optional<int> core);
  static NoiseMonitor begin(std::optional<int> core, Sources sources);

  void mark();       // in the middle, as often as is convenient: between two suites, say
  NoiseFacts end();  // the last mark, and what came of all

  // The reference work's microseconds at each mark, begin() first.
  const std::vector<double>& references() const { return reference_us_; }

  // The core's frequency at the first and the last mark, each right after the reference work, so
  // that a core that sleeps slowly is awake.
  std::optional<double> mhz_before() const;
  std::optional<double> mhz_after() const;

 private:
  NoiseMonitor(std::optional<int> core, Sources sources);

  struct Counters {
    std::optional<CpuTicks> all, core;
    double own_cpu_seconds = 0;
    uint64_t involuntary_switches = 0;
    std::optional<double> throttled_seconds;
    Nanos at = 0;
  };
  Counters read() const;
  std::optional<double> load() const;
  std::optional<double> others_percent(const Counters& last) const;
  std::optional<double> throttled_percent(const Counters& last) const;
  double own_part_of_load() const;

  std::optional<int> core_;
  Sources sources_;
  Counters first_;
  std::optional<double> load_before_;
  double load_own_ = 0;
  std::vector<double> reference_us_;
  std::vector<double> mhz_;
};

}  // namespace pqedge::measure
