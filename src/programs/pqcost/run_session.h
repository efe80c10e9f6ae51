// One run: the timed tracks, throughput, chains and tokens, into one record.
#pragma once

#include <atomic>
#include <optional>
#include <string>

#include "measure/host/pin.h"
#include "measure/provider/registry.h"
#include "measure/record/record.h"
#include "measure/timing/progress.h"
#include "measure/track/plan.h"
#include "programs/pqcost/run_options.h"

namespace pqedge::pqcost {

// What all runs of one command share.
struct RunSession {
  const RunArguments& arguments;
  const Chosen& chosen;
  const measure::Registry& registry;
  const measure::TrackPlan& plan;
  std::string command_line;
  const std::atomic<bool>* cancel;
  bool cancelled() const { return cancel->load(); }
};

// Only the primitives that are going to be used: known answers of all take seconds.
measure::Registry load_registry(const RunArguments& arguments, const Chosen& chosen);

struct RunResult {
  measure::Record record;
  size_t failed = 0;  // suites or parts; each was told
};

// The pin ends when the timed loops are done: throughput is measured on all cores.
RunResult run_once(const RunSession& session, std::optional<measure::CorePin>& pin,
                   measure::Progress& progress);

}  // namespace pqedge::pqcost
