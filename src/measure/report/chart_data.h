// The figures that the charts draw, as JSON for the page's script.
#pragma once

#include <string>

#include "measure/report/model.h"

namespace pqedge::measure::report {

// ASCII, without '<', '>' or '&': it may stand inside a script element whatever the records hold
// (HTML 4.12.1.3).
std::string chart_data(const Model& model);

}  // namespace pqedge::measure::report
