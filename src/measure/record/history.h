// A folder of records: runs are appended, and their figures become lines over time (M9, M17).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "measure/record/record.h"

namespace pqedge::measure {

struct HistoryEntry {
  std::string path;
  Record record;
};

struct History {
  std::vector<HistoryEntry> entries;  // by date, then by id
  std::vector<Error> unreadable;      // files that are no records, or broken ones
};

// Writes the record under a name made of its date, host, commit and id; makes the folder when there
// is none. Returns the path.
Result<std::string> append_to_history(const std::string& folder, const Record& record);

// Reads every *.json of the folder (not of folders below it). A file that cannot be read does not
// stop the others.
Result<History> load_history(const std::string& folder);

// One figure of one suite on one host, done by one version and one code of one provider.
struct SeriesKey {
  std::string host_id;
  std::string track;
  std::string suite;
  std::string provider;
  std::string provider_version;
  std::string code;
  std::string figure;  // "composed", or the phase's name where nothing is composed
  auto operator<=>(const SeriesKey&) const = default;
};

struct SeriesPoint {
  std::string date;
  std::string commit;
  std::string record_id;
  std::string path;
  double median_us = 0;
  // Over the baseline of the same run and track.
  std::optional<double> ratio_to_baseline;
  std::string withheld;  // the reason; such a point is in no range
};

struct Series {
  SeriesKey key;
  std::string host_name;
  bool baseline = false;
  std::vector<SeriesPoint> points;  // by date
  std::optional<Range> median_us;   // only from Range::kLeastRuns points that count
  std::optional<Range> ratio_to_baseline;
};

std::vector<Series> series_of(const History& history);

}  // namespace pqedge::measure
