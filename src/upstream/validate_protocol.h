// Whether what a pool speaks with its servers, and the life of its connections, make sense.
#pragma once

#include <string>

#include "base/problem.h"
#include "upstream/settings.h"

namespace pqedge::upstream {

// `base` is "pool[N]".
void check_protocol(const PoolSettings& pool, const std::string& base, Problems& out);

}  // namespace pqedge::upstream
