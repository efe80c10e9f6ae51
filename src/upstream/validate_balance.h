// Whether what a pool says of choosing among its servers makes sense.
#pragma once

#include <string>

#include "base/problem.h"
#include "upstream/settings.h"

namespace pqedge::upstream {

// `base` is "pool[N]".
void check_balance(const PoolSettings& pool, const std::string& base, Problems& out);

}  // namespace pqedge::upstream
