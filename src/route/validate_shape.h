// Whether what routes change makes sense. Of validate.h's own use, and of the rules for all routes.
#pragma once

#include <string>

#include "base/problem.h"
#include "route/settings.h"

namespace pqedge::route {

// `base` is the route's key.
void check_shape(const RouteSettings& route, const std::string& base, Problems& out);

// Of all routes: keys are "headers.request[N]..." and "headers.response[N]...".
Problems validate(const HeaderSettings& headers);

}  // namespace pqedge::route
