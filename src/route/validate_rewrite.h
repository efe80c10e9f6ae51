// Whether rewrites and redirects make sense. Of validate_shape.h's own use.
#pragma once

#include <string>

#include "base/problem.h"
#include "route/settings.h"

namespace pqedge::route {

// `base` is the route's key.
void check_rewrite(const RouteSettings& route, const std::string& base, Problems& out);
void check_redirect(const RouteSettings& route, const std::string& base, Problems& out);

}  // namespace pqedge::route
