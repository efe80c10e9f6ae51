// Records in, one page out (M16).
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "measure/record/history.h"

namespace pqedge::measure::report {

// Folders of records and single records. A folder's files that are no records are in
// History::unreadable; a file that was named itself must be one. A record found twice, by its id,
// counts once. None at all is an error.
Result<History> read_records(const std::vector<std::string>& paths);

struct ReportOptions {
  std::string title;   // empty: the page's own
  std::string output;  // as write_file() of record/files.h
};
Result<void> write_report(const History& history, const ReportOptions& options);

}  // namespace pqedge::measure::report
