#include <algorithm>
#include <format>

#include "measure/report/format.h"
#include "measure/report/sections.h"

namespace pqedge::measure::report {

namespace {

std::string join(const std::map<std::string, std::string>& facts) {
  std::string text;
  for (const auto& [name, value] : facts) {
    if (!text.empty()) text += "; ";
    text += name + ": " + value;
  }
  return text;
}

std::string live_detail(const LiveRecord& live) {
  Html html;
  html.open("dl", {{"class", "facts"}});
  const auto fact = [&](std::string_view name, std::string_view value) {
    if (value.empty()) return;
    html.open("div").element("dt", name).element("dd", value).close("div");
  };
  fact("Cipher", live.cipher);
  fact("Signature", live.signature);
  for (const auto& [name, us] : live.times_us) fact("Time to " + name, format_time(us));
  for (const auto& [name, bytes] : live.sizes) fact(name, format_bytes(bytes));
  for (const auto& [name, value] : live.facts) fact(name, value);
  if (!live.scenario.empty()) fact("Over the link emulator", join(live.scenario));
  html.close("dl");
  return html.take();
}

Cell direction_cell(const WireBytes& counts) {
  return {.text = format_count(counts.total()),
          .value = static_cast<double>(counts.total()),
          .note = format_count(counts.client_to_server) + " + " +
                  format_count(counts.server_to_client)};
}

Row live_row(const LiveRecord& live, const Run& run) {
  double last = 0;
  for (const auto& [name, us] : live.times_us) last = std::max(last, us);
  Row row;
  row.detail_title = "Details of the handshake with " + live.target;
  row.detail_html = live_detail(live);
  std::string group = live.group.value_or("\u2013");
  row.cells = {
      {.text = live.target},
      {.text = live.transport},
      {.text = group, .note = live.group_code ? std::format("0x{:04x}", *live.group_code) : ""},
      {.text = live.hello_retry_request ? "yes" : "no"},
      direction_cell(live.bytes),
      live.packets_known ? direction_cell(live.packets) : Cell{.text = "not known"},
      live.times_us.empty() ? Cell{.text = "\u2013"} : time_cell(last),
      {.text = live.outcome},
      run_cell(run)};
  return row;
}

Table handshake_table(const HostView& view, size_t& left_out) {
  Table table;
  table.id = view.id("live-table");
  table.caption = "Handshakes with real servers: what was on the wire";
  table.columns = {{"Server", false},
                   {"Over", false},
                   {"Group", false, "Read from the ServerHello's key share"},
                   {"Retry", false, "Whether a HelloRetryRequest came"},
                   {"Bytes", true, "From the client + from the server"},
                   {"Packets", true},
                   {"Time", true, "To the last event seen"},
                   {"Outcome", false},
                   {"Run", true}};
  for (const Run* run : view.host.runs) {
    for (const LiveRecord& live : run->record->live) {
      if (table.rows.size() < kMostHandshakes) {
        table.rows.push_back(live_row(live, *run));
      } else {
        ++left_out;
      }
    }
  }
  return table;
}

std::string range_text(const Range& range, bool time) {
  const auto one = [&](double value) {
    return time ? format_time(value) : format_count(static_cast<uint64_t>(value));
  };
  return std::format("{} ({} to {}, n = {})", one(range.median), one(range.low), one(range.high),
                     range.runs);
}

std::string ranges_text(const std::map<std::string, Range>& ranges, bool time) {
  std::string text;
  for (const auto& [name, range] : ranges) {
    if (!text.empty()) text += "; ";
    text += name + " " + range_text(range, time);
  }
  return text;
}

Row scenario_row(const ScenarioRecord& scenario, const Run& run) {
  std::string outcomes;
  for (const auto& [name, count] : scenario.outcomes) {
    if (!outcomes.empty()) outcomes += "; ";
    outcomes += std::format("{} {}", format_count(count), name);
  }
  return {{{.text = scenario.scenario},
           {.text = scenario.variant, .note = join(scenario.settings)},
           {.text = outcomes},
           {.text = ranges_text(scenario.times_us, true)},
           {.text = ranges_text(scenario.bytes, false)},
           {.text = scenario.emulator,
            .note = std::format("adds {} one way, p99 {}; {} seeds",
                                format_time(scenario.added_delay_us),
                                format_time(scenario.added_delay_p99_us), scenario.seeds.size())},
           run_cell(run)}};
}

void write_scenarios(Html& html, const HostView& view) {
  const Shown shown =
      shown_run(view.host, [](const Record& record) { return !record.scenarios.empty(); });
  if (shown.run == nullptr) return;
  Table table;
  table.id = view.id("scenario-table");
  table.caption = "Scenarios over the link emulator: median and range over the seeds";
  table.columns = {{"Scenario", false}, {"Variant", false},  {"Outcomes", false}, {"Times", false},
                   {"Bytes", false},    {"Emulator", false}, {"Run", true}};
  for (const ScenarioRecord& scenario : shown.run->record->scenarios) {
    table.rows.push_back(scenario_row(scenario, *shown.run));
  }
  html.element("h4", "Scenarios");
  write_source(html, shown);
  write_chart(html, view,
              {.kind = "scenarios",
               .title = "Time to the end of the handshake.",
               .text = "Median and range over the seeds, of the handshakes that succeeded; the "
                       "number is how many did.",
               .table_id = table.id});
  write_table(html, table);
}

}  // namespace

std::optional<Section> live_section(const HostView& view) {
  size_t left_out = 0;
  const Table table = handshake_table(view, left_out);
  const bool scenarios = std::ranges::any_of(
      view.host.runs, [](const Run* run) { return !run->record->scenarios.empty(); });
  if (table.rows.empty() && !scenarios) return std::nullopt;
  Html html;
  html.element("h3", "Handshakes on the wire");
  if (!table.rows.empty()) {
    write_chart(html, view,
                {.kind = "live",
                 .title = "Bytes of each handshake.",
                 .text = "By direction; the newest handshakes.",
                 .table_id = table.id});
    write_table(html, table);
  }
  if (left_out > 0) {
    html.element("p", std::format("{} older handshakes are left out here; their records hold them.",
                                  format_count(left_out)));
  }
  write_scenarios(html, view);
  return Section{view.id("live"), "Live", html.take()};
}

}  // namespace pqedge::measure::report
