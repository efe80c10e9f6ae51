// Times of log lines.
#pragma once

#include <string>

#include "base/time.h"

namespace pqedge::record {

// Appends wall-clock nanoseconds since the epoch as RFC 3339 in UTC with milliseconds:
// "2026-11-30T15:01:02.345Z". The part down to seconds is made once a second a thread.
void append_timestamp(std::string& out, Nanos wall);

}  // namespace pqedge::record
