// Whether the settings of the admin side make sense.
#pragma once

#include "admin/settings.h"
#include "base/problem.h"

namespace pqedge::admin {

// Keys are "admin.NAME".
Problems validate(const Settings& settings);

}  // namespace pqedge::admin
