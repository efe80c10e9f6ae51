// When a run is withheld (M9): its figures stay in the record, and nothing is compared with them.
#pragma once

#include <optional>
#include <span>

#include "measure/record/record.h"

namespace pqedge::measure {

// Each is passed when the figure is above it. docs/pqcost/statistics.md says why these.
struct WithholdLimits {
  double steal_percent = 1;    // of all CPU time, or of the pinned core's
  double load_per_core = 1;    // one-minute load average at the start without our own part, a core
  double others_percent = 10;  // CPU time of other processes, of all cores' time
  double throttled_percent = 1;  // of the run's time, by a CPU quota
  double spread_percent = 5;     // of the reference loop: of the run between its quartiles, and of
                                 // one suite from the run's median
  double frequency_change_percent = 5;
  double drift_percent = 15;  // of one row: its second half's median against the first half's,
                              // both ends of the 95 % interval of their ratio
};

// The reasons, or none. A figure that had to be read and could not be (NoiseFacts::unknown) is a
// reason too: nobody knows then how quiet the host was.
std::optional<Withheld> withhold_run(const NoiseFacts& noise, unsigned logical_cores,
                                     const WithholdLimits& limits = {});

// One suite of a run: the reference loop right before and right after it, against its median over
// the whole run. All three in microseconds.
std::optional<Withheld> withhold_between(double before_us, double after_us, double run_us,
                                         const WithholdLimits& limits = {});

// One row (a phase, a composed exchange) by its own samples, in the order in which they were taken:
// withheld when the machine changed beneath it. Needs 20 samples, fewer give no reason.
std::optional<Withheld> withhold_row(std::span<const double> samples_us,
                                     const WithholdLimits& limits = {});

}  // namespace pqedge::measure
