// What of [acme] concerns listeners and TLS, beyond its own settings.
#pragma once

#include "base/problem.h"
#include "edge/settings.h"

namespace pqedge::edge {

Problems validate_acme(const Settings& settings);

}  // namespace pqedge::edge
