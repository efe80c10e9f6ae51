// Checks of listeners without HTTP.
#pragma once

#include "base/problem.h"
#include "edge/settings.h"

namespace pqedge::edge {

Problems validate_streams(const Settings& settings);

}  // namespace pqedge::edge
