#include "programs/pqcost/run_repeat.h"

#include <algorithm>
#include <format>

#include "measure/record/history.h"
#include "measure/record/markdown.h"
#include "measure/record/text.h"

namespace pqedge::pqcost {

namespace {

using namespace measure;
using Align = TextTable::Align;

std::string title_of(const Series& series) {
  std::string title = series.key.suite;
  if (series.key.figure != "composed") title += ' ' + series.key.figure;
  return title;
}

std::string range_text(const Range& range, std::string (*text)(double)) {
  return text(range.low) + " to " + text(range.high);
}

void add_range(TextTable& table, const Series& series) {
  const Range& range = *series.median_us;
  const auto& ratio = series.ratio_to_baseline;
  table.add({title_of(series), series.key.provider, time_text(range.median),
             range_text(range, time_text), std::to_string(range.runs),
             series.baseline ? "baseline"
             : ratio         ? change_text(ratio->median)
                             : "",
             ratio ? range_text(*ratio, change_text) : ""});
}

void add_runs(TextTable& table, const Series& series) {
  for (const SeriesPoint& point : series.points) {
    table.add({title_of(series), series.key.provider, time_text(point.median_us), point.date,
               series.baseline           ? "baseline"
               : point.ratio_to_baseline ? change_text(*point.ratio_to_baseline)
                                         : "",
               point.withheld.empty() ? "" : "withheld"});
  }
}

}  // namespace

std::string repeat_view(std::span<const Record> records) {
  History history;
  for (const Record& record : records) history.entries.push_back({"", record});
  std::vector<Series> all = series_of(history);

  TextTable ranges({{"suite", Align::left},
                    {"library", Align::left},
                    {"median", Align::right},
                    {"range", Align::right},
                    {"runs", Align::right},
                    {"change", Align::right},
                    {"its range", Align::right}});
  TextTable runs({{"suite", Align::left},
                  {"library", Align::left},
                  {"median", Align::right},
                  {"date", Align::left},
                  {"change", Align::right},
                  {"", Align::left}});
  for (const Series& series : all) {
    if (series.median_us) {
      add_range(ranges, series);
    } else {
      add_runs(runs, series);
    }
  }
  std::string out;
  if (ranges.rows() > 0) out += "\nMedian and range over the runs that count\n" + ranges.text();
  if (runs.rows() > 0) {
    out += std::format("\nFewer than {} runs that count make no range: each is a run of its own\n",
                       Range::kLeastRuns) +
           runs.text();
  }
  return out;
}

}  // namespace pqedge::pqcost
