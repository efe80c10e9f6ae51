// Checks of what a route says about tunnels.
#pragma once

#include <string>

#include "base/problem.h"
#include "route/settings.h"

namespace pqedge::route {

// `base`: the key of the route. What its pool speaks is checked by who knows the pools.
void check_tunnel(const RouteSettings& route, const std::string& base, Problems& out);

}  // namespace pqedge::route
