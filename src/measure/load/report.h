// A run's result as JSON and as text.
#pragma once

#include <string>

#include "measure/load/options.h"
#include "measure/load/run.h"
#include "measure/record/record.h"

namespace pqedge::measure::load {

// One JSON object; times are in microseconds or seconds as the names say.
std::string to_json(const Options& options, const RunResult& result);

// The same for a record of pqcost, with the latencies' histogram.
LoadRecord to_record(const Options& options, const RunResult& result);

// A few lines for a person.
std::string to_text(const Options& options, const RunResult& result);

}  // namespace pqedge::measure::load
