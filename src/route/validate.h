// Whether the routes of a configuration make sense together.
#pragma once

#include <vector>

#include "base/problem.h"
#include "route/settings.h"

namespace pqedge::route {

// Keys are "route[N]...". Whether a named pool exists is not looked at.
Problems validate(const std::vector<RouteSettings>& routes);

// Whether `host` is a host name, an IP literal as it stands in an authority, or, with
// `allow_wildcard`, "*." and a host name.
bool is_host_pattern(std::string_view host, bool allow_wildcard);

// What is_host_pattern() refuses, with a hint, and what is there twice. `key` is the list's.
void check_host_list(const std::vector<std::string>& hosts, const std::string& key, Problems& out);

}  // namespace pqedge::route
