// Whether the log settings make sense.
#pragma once

#include "base/problem.h"
#include "record/settings.h"

namespace pqedge::record {

// Keys are "logging.NAME".
Problems validate(const LogSettings& settings);

}  // namespace pqedge::record
