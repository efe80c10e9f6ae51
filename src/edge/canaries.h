// What the control socket says of canaries, and does to them.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace pqedge::edge {

class Snapshot;

// A JSON array: route, pool, percent, the percent of the file, state, and the window's count.
std::string canaries_json(const Snapshot& snapshot, Nanos now);

// `percent` is "0" to "100", with up to two decimals, or "rollback": what "0" does. It holds until
// it is set again, the file has another percent, or the process ends without a hot upgrade. The
// text says what was done.
Result<std::string> set_canary(const Snapshot& snapshot, std::string_view route,
                               std::string_view percent);

}  // namespace pqedge::edge
