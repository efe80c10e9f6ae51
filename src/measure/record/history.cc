#include "measure/record/history.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "measure/record/json.h"

namespace pqedge::measure {
namespace {

namespace fs = std::filesystem;

// What may stand in a file's name, at most `most` of it.
std::string name_part(std::string_view text, size_t most) {
  std::string part;
  for (const char c : text) {
    const bool good = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (good && part.size() < most) part += c;
  }
  return part.empty() ? "unknown" : part;
}

std::string file_name(const Record& record) {
  const Environment& e = record.environment;
  return name_part(e.date, 20) + '-' + name_part(e.host.id, 8) + '-' + name_part(e.commit, 12) +
         '-' + name_part(record.id, 8) + ".json";
}

void add_point(std::map<SeriesKey, Series>& all, const HistoryEntry& entry, const SuiteRecord& s,
               SeriesKey key, const Summary& figures) {
  const Record& record = entry.record;
  Series& series = all[key];
  series.key = std::move(key);
  series.host_name = record.environment.host.name;
  series.baseline = s.baseline;
  SeriesPoint point{.date = record.environment.date,
                    .commit = record.environment.commit,
                    .record_id = record.id,
                    .path = entry.path,
                    .median_us = figures.median_us};
  if (series.key.figure == "composed" && s.against_baseline) {
    point.ratio_to_baseline = s.against_baseline->value;
  }
  if (record.withheld) {
    point.withheld = record.withheld->reason;
  } else if (s.withheld) {
    point.withheld = s.withheld->reason;
  }
  series.points.push_back(std::move(point));
}

void add_suite(std::map<SeriesKey, Series>& all, const HistoryEntry& entry,
               const TrackRecord& track, const SuiteRecord& s) {
  SeriesKey key{.host_id = entry.record.environment.host.id,
                .track = track.name,
                .suite = s.name,
                .provider = s.provider,
                .provider_version = s.provider_version,
                .code = s.code,
                .figure = "composed"};
  if (s.composed) return add_point(all, entry, s, key, *s.composed);
  for (const PhaseRecord& phase : s.phases) {
    key.figure = phase.name;
    add_point(all, entry, s, key, phase.figures);
  }
}

// None from fewer runs than make a range (M9).
std::optional<Range> range_from(const std::vector<double>& values) {
  if (values.size() < Range::kLeastRuns) return std::nullopt;
  return range_of(values);
}

void add_ranges(Series& series) {
  std::vector<double> medians;
  std::vector<double> ratios;
  for (const SeriesPoint& point : series.points) {
    if (!point.withheld.empty()) continue;
    medians.push_back(point.median_us);
    if (point.ratio_to_baseline) ratios.push_back(*point.ratio_to_baseline);
  }
  series.median_us = range_from(medians);
  series.ratio_to_baseline = range_from(ratios);
}

}  // namespace

Result<std::string> append_to_history(const std::string& folder, const Record& record) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return fail_errno(error.value(), "cannot make the folder {}", folder);
  const std::string path = (fs::path(folder) / file_name(record)).string();
  if (auto written = write_record(record, path); !written) {
    return std::unexpected(written.error());
  }
  return path;
}

Result<History> load_history(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> paths;
  for (auto it = fs::directory_iterator(folder, error); !error && it != fs::directory_iterator();
       it.increment(error)) {
    const fs::path& path = it->path();
    if (path.extension() == ".json" && !path.filename().string().starts_with('.')) {
      paths.push_back(path.string());
    }
  }
  if (error) return fail_errno(error.value(), "cannot read the folder {}", folder);
  std::ranges::sort(paths);
  History history;
  for (const std::string& path : paths) {
    auto record = read_record(path);
    if (record) {
      history.entries.push_back({path, std::move(*record)});
    } else {
      history.unreadable.push_back(record.error());
    }
  }
  std::ranges::stable_sort(history.entries, {}, [](const HistoryEntry& e) {
    return std::pair(std::string_view(e.record.environment.date), std::string_view(e.record.id));
  });
  return history;
}

std::vector<Series> series_of(const History& history) {
  std::map<SeriesKey, Series> all;
  for (const HistoryEntry& entry : history.entries) {
    for (const TrackRecord& track : entry.record.tracks) {
      for (const SuiteRecord& suite : track.suites) add_suite(all, entry, track, suite);
    }
  }
  std::vector<Series> out;
  for (auto& [key, series] : all) {
    add_ranges(series);
    out.push_back(std::move(series));
  }
  return out;
}

}  // namespace pqedge::measure
