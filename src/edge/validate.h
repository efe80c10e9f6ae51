// Whether a whole configuration of the data plane makes sense: each module's own checks, and those
// that need two modules' settings.
#pragma once

#include "base/problem.h"
#include "edge/settings.h"

namespace pqedge::edge {

// Keys are as the configuration file writes them. Files and certificates are not looked at.
Problems validate(const Settings& settings);

}  // namespace pqedge::edge
