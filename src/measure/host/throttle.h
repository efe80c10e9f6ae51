// CPU quotas of control groups: a container that used its share of a period stands still until the
// next one begins.
#pragma once

#include <optional>

#include "measure/host/files.h"

namespace pqedge::measure {

// How long this process's group and those around it have stood still by a quota so far, in seconds
// (cpu.stat: throttled_usec of version 2, throttled_time of version 1). None where nothing tells.
std::optional<double> throttled_seconds(const HostFiles& files);

}  // namespace pqedge::measure
