// A run as a person reads it on a terminal of 80 columns or more.
#pragma once

#include <string>

#include "measure/record/record.h"

namespace pqedge::measure {

// What the record holds, in tables no wider than `columns` (at least 80); wider terminals get more
// columns. Everything that is left out here is in the record itself.
std::string terminal_view(const Record& record, unsigned columns);

// The parts of it.
std::string tracks_view(const TrackRecord& track, unsigned columns);
std::string chains_view(const Record& record, unsigned columns);
std::string tokens_view(const Record& record, unsigned columns);

// Cut into lines of at most `columns` at spaces, each with `indent` spaces before it.
std::string wrapped(const std::string& text, unsigned columns, unsigned indent);

}  // namespace pqedge::measure
