// Whether the limits of messages and the identity settings make sense.
#pragma once

#include "base/problem.h"
#include "http/limits.h"
#include "http/rules.h"

namespace pqedge::http {

// Keys are "limits.NAME" and "timeouts.NAME".
Problems validate(const Limits& limits);
// Keys are "identity.NAME".
Problems validate(const IdentitySettings& settings);

}  // namespace pqedge::http
