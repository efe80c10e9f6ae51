// Checks of what a route says about forwarding.
#pragma once

#include <string>

#include "base/problem.h"
#include "route/forward_settings.h"

namespace pqedge::route {

// `base`: the key of the route. That the shadow's pool exists is checked by who knows the pools.
void check_forward(const ForwardSettings& settings, const std::string& base, Problems& out);

}  // namespace pqedge::route
