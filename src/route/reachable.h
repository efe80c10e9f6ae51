// Routes that no request can reach, since another one takes each that they would match.
#pragma once

#include <vector>

#include "base/problem.h"
#include "route/settings.h"

namespace pqedge::route {

// Keys are "route[N]...". A route whose every request is taken is a problem; one of whose hosts
// alone is in vain, a warning.
void check_reachable(const std::vector<RouteSettings>& routes, Problems& out);

}  // namespace pqedge::route
