#include <algorithm>
#include <format>

#include "measure/report/format.h"
#include "measure/report/sections.h"

namespace pqedge::measure::report {

namespace {

struct HistoryRow {
  const Series* series;
  const SeriesPoint* point;
};

std::vector<HistoryRow> rows_of(const Host& host) {
  std::vector<HistoryRow> rows;
  for (const Series* series : host.series) {
    for (const SeriesPoint& point : series->points) rows.push_back({series, &point});
  }
  std::ranges::stable_sort(
      rows, [](const HistoryRow& a, const HistoryRow& b) { return a.point->date > b.point->date; });
  return rows;
}

Row history_row(const HistoryRow& one, const Run* run) {
  const SeriesKey& key = one.series->key;
  Row row;
  if (!one.point->withheld.empty()) row.state = "withheld";
  row.cells = {{.text = format_date(one.point->date)},
               {.text = track_tab(key.track)},
               {.text = key.suite, .note = key.figure == "composed" ? "" : key.figure},
               {.text = key.provider + " " + key.provider_version, .note = key.code},
               time_cell(one.point->median_us),
               one.point->ratio_to_baseline
                   ? Cell{.text = format_multiple(*one.point->ratio_to_baseline),
                          .value = *one.point->ratio_to_baseline}
                   : Cell{.text = "\u2013"},
               one.point->withheld.empty() ? Cell{.text = "counts"}
                                           : Cell{.text = one.point->withheld, .badge = "withheld"},
               run == nullptr ? Cell{.text = format_short(one.point->commit)} : run_cell(*run)};
  return row;
}

Table range_table(const HostView& view) {
  Table table;
  table.id = view.id("range-table");
  table.caption = "Median and range over the runs that count";
  table.columns = {{"Track", false},
                   {"Suite", false},
                   {"Library", false},
                   {"Runs", true},
                   {"Median of medians", true},
                   {"Range", false},
                   {"Against baseline", true}};
  for (const Series* series : view.host.series) {
    if (!series->median_us) continue;
    const Range& range = *series->median_us;
    Cell ratio = {.text = series->baseline ? "" : "\u2013",
                  .badge = series->baseline ? "baseline" : ""};
    if (!series->baseline && series->ratio_to_baseline) {
      const Range& over = *series->ratio_to_baseline;
      ratio = {.text = format_multiple(over.median),
               .value = over.median,
               .note = format_multiple(over.low) + " to " + format_multiple(over.high)};
    }
    table.rows.push_back(
        {{{.text = track_tab(series->key.track)},
          {.text = series->key.suite,
           .note = series->key.figure == "composed" ? "" : series->key.figure},
          {.text = series->key.provider + " " + series->key.provider_version,
           .note = series->key.code},
          {.text = std::to_string(range.runs), .value = static_cast<double>(range.runs)},
          time_cell(range.median),
          {.text = format_time(range.low) + " to " + format_time(range.high)},
          ratio}});
  }
  return table;
}

}  // namespace

std::optional<Section> history_section(const HostView& view) {
  if (view.host.runs.size() < 2 || view.host.series.empty()) return std::nullopt;
  const std::vector<HistoryRow> rows = rows_of(view.host);
  Table table;
  table.id = view.id("history-table");
  table.caption = "Every run: medians, newest first";
  table.columns = {{"Date", false},    {"Track", false}, {"Suite", false},
                   {"Library", false}, {"Median", true}, {"Against baseline", true},
                   {"State", false},   {"Run", true}};
  for (const HistoryRow& one : rows) {
    if (table.rows.size() == kMostHistoryRows) break;
    table.rows.push_back(history_row(one, view.model.run_of(one.point->record_id)));
  }
  Html html;
  html.element("h3", "History");
  html.element("p",
               std::format("A median and range need at least {} runs of one host with the same "
                           "library, version and code; fewer are dated single runs. Withheld "
                           "runs are shown and do not count.",
                           Range::kLeastRuns));
  for (const std::string& track : track_names(view.host)) {
    write_chart(
        html, view,
        {.kind = "history",
         .track = track,
         .title = track_tab(track) + " by date.",
         .text = "Median of each run; a cross is a withheld run. Lines are broken where the "
                 "library or its code changes.",
         .table_id = table.id});
  }
  const Table ranges = range_table(view);
  if (!ranges.rows.empty()) write_table(html, ranges);
  write_table(html, table);
  if (rows.size() > table.rows.size()) {
    html.element("p", std::format("{} older figures are left out of this table; their records hold "
                                  "them.",
                                  format_count(rows.size() - table.rows.size())));
  }
  return Section{view.id("history"), "History", html.take()};
}

}  // namespace pqedge::measure::report
