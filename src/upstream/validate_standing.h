// Whether what a pool says of checks, ejection, breaker and discovery makes sense.
#pragma once

#include <string>

#include "base/problem.h"
#include "upstream/settings.h"

namespace pqedge::upstream {

// `base`: the key of the pool.
void check_standing(const PoolSettings& pool, const std::string& base, Problems& out);
void check_discovery(const PoolSettings& pool, const std::string& base, Problems& out);

}  // namespace pqedge::upstream
