// One real handshake with a server, and what it cost (M18).
#pragma once

#include <string_view>

#include "measure/live/options.h"
#include "measure/record/record.h"

namespace pqedge::measure::live {

// LiveRecord::outcome of a handshake that was completed.
inline constexpr std::string_view kCompleted = "handshake";

// Makes one handshake and closes the connection. It does not fail: `outcome` says in a word or two
// how it ended, and facts["error"] holds the whole message for a person. What was seen until then
// is in the record. Runs on the calling thread, in that thread's network namespace.
LiveRecord handshake(const Options& options);

}  // namespace pqedge::measure::live
