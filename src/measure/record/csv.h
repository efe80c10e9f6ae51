// The record as a table of figures, one a row (RFC 4180).
#pragma once

#include <span>
#include <string>

#include "measure/record/record.h"

namespace pqedge::measure {

// Columns: record, date, host, commit, track, suite, provider, code, item, figure, value, unit,
// iterations, withheld. Text that a spreadsheet could take for a formula gets a leading apostrophe.
std::string to_csv(std::span<const Record> records);
inline std::string to_csv(const Record& record) { return to_csv(std::span(&record, 1)); }

// One sample a row: record, track, suite, provider, phase, index, microseconds. For records that
// keep their samples.
std::string samples_to_csv(const Record& record);

}  // namespace pqedge::measure
