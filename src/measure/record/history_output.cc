#include "measure/record/history_output.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "measure/record/markdown.h"
#include "measure/record/text.h"

namespace pqedge::measure {

bool wanted(const HistoryFilter& filter, const std::string& name, const std::string& id) {
  return filter.host.empty() || filter.host == name || filter.host == id;
}

bool wanted(const HistoryFilter& filter, const Series& s) {
  return (filter.track.empty() || filter.track == s.key.track) &&
         (filter.suite.empty() || filter.suite == s.key.suite) &&
         wanted(filter, s.host_name, s.key.host_id);
}

// "36.0 µs (33.1 to 40.2, 9 runs)", or the latest run alone when there are too few for a range.
std::string range_text(const std::optional<Range>& range) {
  if (!range) return "";
  return std::format("{} ({} to {}, {} runs)", time_text(range->median), time_text(range->low),
                     time_text(range->high), range->runs);
}

std::string change_range_text(const std::optional<Range>& range) {
  if (!range) return "";
  return std::format("{} ({} to {})", change_text(range->median), change_text(range->low),
                     change_text(range->high));
}

namespace {

using Align = TextTable::Align;
using Json = nlohmann::ordered_json;

std::string reason_of(const Record& record) {
  if (record.withheld) return "withheld: " + record.withheld->reason;
  return record.complete ? "" : "interrupted";
}

TextTable runs_table(const History& history, const HistoryFilter& filter) {
  TextTable table({{"date"}, {"host"}, {"commit"}, {"libraries"}, {"remark"}});
  for (const HistoryEntry& e : history.entries) {
    const Environment& env = e.record.environment;
    if (!wanted(filter, env.host.name, env.host.id)) continue;
    std::string libraries;
    for (const Library& l : env.libraries) {
      libraries += (libraries.empty() ? "" : ", ") + l.name + ' ' + l.version;
    }
    table.add({env.date, env.host.name, env.commit, libraries, reason_of(e.record)});
  }
  return table;
}

void add_series(TextTable& table, const Series& s) {
  const auto counted =
      std::ranges::count_if(s.points, [](const SeriesPoint& p) { return p.withheld.empty(); });
  const SeriesPoint& latest = s.points.back();
  std::string change = s.baseline ? "baseline" : change_range_text(s.ratio_to_baseline);
  if (change.empty() && latest.ratio_to_baseline) {
    change = change_text(*latest.ratio_to_baseline) + ", one run";
  }
  const std::string shown = s.median_us ? range_text(s.median_us)
                                        : std::format("{} runs, fewer than the {} of a range",
                                                      counted, Range::kLeastRuns);
  table.add({s.key.track, s.key.suite, s.key.figure, s.key.provider + ' ' + s.key.provider_version,
             s.key.code, shown, change,
             latest.withheld.empty() ? time_text(latest.median_us) : "withheld", latest.date,
             latest.commit});
}

// One suite's figure from run to run: what changed, and with which commit.
void add_points(TextTable& table, const Series& s) {
  const double* before = nullptr;
  for (const SeriesPoint& p : s.points) {
    const std::string step = before == nullptr ? "" : change_text(p.median_us / *before);
    table.add({s.key.track + ' ' + s.key.figure, s.key.provider + ' ' + s.key.provider_version,
               s.key.code, p.date, p.commit, time_text(p.median_us), step,
               p.ratio_to_baseline ? change_text(*p.ratio_to_baseline) : "",
               p.withheld.empty() ? "" : "withheld: " + p.withheld});
    if (p.withheld.empty()) before = &p.median_us;
  }
}

TextTable points_table() {
  return TextTable({{"figure"},
                    {"provider"},
                    {"code"},
                    {"date"},
                    {"commit"},
                    {"median", Align::right},
                    {"since the run before", Align::right},
                    {"to the baseline", Align::right},
                    {"remark"}});
}

TextTable series_table() {
  return TextTable({{"track"},
                    {"suite"},
                    {"figure"},
                    {"provider"},
                    {"code"},
                    {"median of runs (range)"},
                    {"change to the baseline"},
                    {"latest", Align::right},
                    {"of"},
                    {"commit"}});
}

Json range_json(const Range& r) {
  return {{"median", r.median}, {"low", r.low}, {"high", r.high}, {"runs", r.runs}};
}

Json series_json(const Series& s) {
  Json j = {{"host", s.host_name},
            {"host_id", s.key.host_id},
            {"track", s.key.track},
            {"suite", s.key.suite},
            {"figure", s.key.figure},
            {"provider", s.key.provider},
            {"provider_version", s.key.provider_version},
            {"code", s.key.code},
            {"baseline", s.baseline}};
  if (s.median_us) j["median_us"] = range_json(*s.median_us);
  if (s.ratio_to_baseline) j["ratio_to_baseline"] = range_json(*s.ratio_to_baseline);
  j["points"] = Json::array();
  for (const SeriesPoint& p : s.points) {
    Json point = {{"date", p.date},
                  {"commit", p.commit},
                  {"record", p.record_id},
                  {"file", p.path},
                  {"median_us", p.median_us}};
    if (p.ratio_to_baseline) point["ratio_to_baseline"] = *p.ratio_to_baseline;
    if (!p.withheld.empty()) point["withheld"] = p.withheld;
    j["points"].push_back(std::move(point));
  }
  return j;
}

}  // namespace

std::string history_text(const History& history, const HistoryFilter& filter) {
  std::string out = runs_table(history, filter).text();
  const bool points = !filter.suite.empty();
  TextTable table = points ? points_table() : series_table();
  std::string host;
  const auto flush = [&] {
    if (table.rows() > 0) out += "\nHost " + host + '\n' + table.text();
  };
  for (const Series& s : series_of(history)) {  // by host first
    if (!wanted(filter, s)) continue;
    const std::string name = s.host_name + " (" + s.key.host_id + ')';
    if (name != host) {
      flush();
      table.clear();
      host = name;
    }
    points ? add_points(table, s) : add_series(table, s);
  }
  flush();
  return out;
}

std::string history_json(const History& history, const HistoryFilter& filter) {
  Json json = {{"runs", Json::array()}, {"series", Json::array()}};
  for (const HistoryEntry& e : history.entries) {
    const Environment& env = e.record.environment;
    if (!wanted(filter, env.host.name, env.host.id)) continue;
    Json run = {{"date", env.date},
                {"host", env.host.name},
                {"host_id", env.host.id},
                {"commit", env.commit},
                {"record", e.record.id},
                {"file", e.path},
                {"complete", e.record.complete}};
    if (e.record.withheld) run["withheld"] = e.record.withheld->reason;
    json["runs"].push_back(std::move(run));
  }
  for (const Series& s : series_of(history)) {
    if (wanted(filter, s)) json["series"].push_back(series_json(s));
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace pqedge::measure
