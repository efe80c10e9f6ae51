// Whether the passthroughs of a configuration make sense.
#pragma once

#include "base/problem.h"
#include "edge/settings.h"

namespace pqedge::edge {

Problems validate_passthroughs(const Settings& settings);

}  // namespace pqedge::edge
