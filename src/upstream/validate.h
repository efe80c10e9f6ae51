// Whether the pools of a configuration make sense.
#pragma once

#include <vector>

#include "base/problem.h"
#include "upstream/settings.h"

namespace pqedge::upstream {

// Keys are "pool[N]...".
Problems validate(const std::vector<PoolSettings>& pools);

}  // namespace pqedge::upstream
