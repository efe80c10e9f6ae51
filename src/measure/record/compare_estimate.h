// How much one figure grew from some runs to others, and how sure that is (M17).
#pragma once

#include <string>
#include <vector>

#include "measure/record/record.h"

namespace pqedge::measure {

// One figure in one run.
struct Seen {
  const Record* record;
  const SuiteRecord* suite;
  const Summary* figures;
  std::vector<double> samples;  // empty: not kept
};

struct Estimate {
  Ratio ratio;
  std::string evidence;
};

std::vector<double> medians(const std::vector<Seen>& runs);  // microseconds, one a run

// After over before. From single runs the interval is widened by the hosts' drift; from fewer runs
// than a range takes it goes from extreme to extreme.
Estimate estimate(const std::vector<Seen>& before, const std::vector<Seen>& after);

}  // namespace pqedge::measure
