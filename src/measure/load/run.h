// One run of the load generator.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "measure/load/cpu_time.h"
#include "measure/load/options.h"
#include "measure/load/tally.h"
#include "measure/load/tls_client.h"

namespace pqedge::measure::load {

struct RunResult {
  Tally tally;
  TlsFacts tls;        // empty for clear text
  double window = 0;   // seconds
  Traffic traffic;     // inside the window
  size_t backlog = 0;  // most requests of an open loop that waited for a connection at once
  CpuTime own;         // inside the window
  std::map<std::string, CpuTime> watched;
  std::map<int, CoreTime> cores;
};

// Connects, loads and measures as asked; returns when all is answered or timed out. An error is
// what keeps a run from starting; what goes wrong in it is counted in the tally. One thread, which
// is the caller's. SIGINT and SIGTERM end the window early.
Result<RunResult> run(const Options& options);

}  // namespace pqedge::measure::load
