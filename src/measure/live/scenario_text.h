// Scenarios in words, for a terminal.
#pragma once

#include <span>
#include <string>

#include "measure/record/record.h"

namespace pqedge::measure::live {

// One line a variant: outcomes, median and range of the whole handshake, bytes each way.
std::string describe(std::span<const ScenarioRecord> scenarios);

}  // namespace pqedge::measure::live
