#include <algorithm>
#include <format>

#include "measure/report/format.h"
#include "measure/report/sections.h"

namespace pqedge::measure::report {

namespace {

Cell suite_cell(const SuiteRecord& suite, const Run& run) {
  const std::string reason = withheld_reason(*run.record, suite);
  if (suite.absent.empty() && !reason.empty()) {
    // A reason of the whole run stands once, above the table.
    return {.text = suite.name,
            .note = run.record->withheld ? "with its whole run" : reason,
            .badge = "withheld"};
  }
  return {.text = suite.name, .note = suite.note, .badge = suite.baseline ? "baseline" : ""};
}

Cell library_cell(const SuiteRecord& suite) {
  return {
      .text = suite.provider + (suite.provider_version.empty() ? "" : " ") + suite.provider_version,
      .note = suite.code};
}

std::string state_of(const SuiteRecord& suite, const Run& run) {
  if (!suite.absent.empty()) return "absent";
  if (!withheld_reason(*run.record, suite).empty()) return "withheld";
  return suite.baseline ? "baseline" : "measured";
}

Row absent_row(const SuiteRecord& suite, const Run& run) {
  Row row;
  row.state = "absent";
  row.cells = {suite_cell(suite, run), {.text = suite.absent, .badge = "absent"}};
  return row;
}

// ---- key exchanges ------------------------------------------------------------------------------

Row exchange_row(const HostView& view, const TrackRecord& track, const SuiteRecord& suite,
                 const Run& run) {
  if (!suite.absent.empty()) return absent_row(suite, run);
  Row row;
  row.state = state_of(suite, run);
  row.detail_title = "Phases of " + suite_label(suite);
  row.detail_html = suite_detail(suite, true);
  row.cells = {suite_cell(suite, run), library_cell(suite)};
  if (!suite.composed) {
    row.cells.push_back({.text = "not composed: see the phases"});
    return row;
  }
  const Summary& total = *suite.composed;
  Cell end = {.text = "\u2013"};
  if (suite.end_to_end) {
    end = time_cell(suite.end_to_end->median_us);
    if (suite.end_to_end_ratio) end.note = format_multiple(*suite.end_to_end_ratio);
  }
  row.cells.push_back(time_cell(total.median_us));
  row.cells.push_back(change_cell(change_of(view.model, view.host, track.name, suite, run)));
  row.cells.push_back({.text = format_count(suite.wire_bytes.total()),
                       .value = static_cast<double>(suite.wire_bytes.total()),
                       .note = format_count(suite.wire_bytes.client_to_server) + "\u00a0+\u00a0" +
                               format_count(suite.wire_bytes.server_to_client)});
  row.cells.push_back(end);
  row.cells.push_back({.text = format_time(total.mean_us),
                       .value = total.mean_us,
                       .note = "\u00b1\u00a0" + format_time(total.mean_ci95_us)});
  row.cells.push_back(time_cell(total.p95_us));
  row.cells.push_back(time_cell(total.p99_us));
  row.cells.push_back({.text = format_multiple(total.tail), .value = total.tail});
  row.cells.push_back(
      {.text = format_number(total.ops_per_second, 0), .value = total.ops_per_second});
  row.cells.push_back(run_cell(run));
  return row;
}

Table exchange_table(const HostView& view, const TrackRecord& track, const Run& run) {
  Table table;
  table.id = view.id(track.name + "-suites");
  table.caption = track_title(track) + ": processor time and bytes of each suite";
  table.columns = {
      {"Suite", false},
      {"Library", false, "The library whose code was timed, and which of its code ran"},
      {"Median", true, "Of the composed exchange, both sides together"},
      {"Against baseline", true, "Composed medians, of one run; median and range over runs"},
      {"Bytes", true, "Public values on the wire: client to server + server to client"},
      {"End to end", true,
       "Median of the same exchange in one loop, and its ratio to the composed"},
      {"Mean", true, "Of the composed exchange, with its 95 % interval"},
      {"p95", true},
      {"p99", true, "Not shown below 100 samples"},
      {"Tail", true, "Maximum over mean"},
      {"A second", true, "Exchanges a second on one core: 1 over the mean"},
      {"Run", true},
  };
  for (const SuiteRecord& suite : track.suites) {
    table.rows.push_back(exchange_row(view, track, suite, run));
  }
  return table;
}

// ---- single operations --------------------------------------------------------------------------

template <typename Names>
void note_name(Names& names, const std::string& name) {
  if (!std::ranges::contains(names, name)) names.push_back(name);
}

std::string size_title(std::string name) {
  if (name == "spki") return "SPKI";
  std::ranges::replace(name, '_', ' ');
  if (!name.empty() && name[0] >= 'a' && name[0] <= 'z') name[0] = static_cast<char>(name[0] - 32);
  return name;
}

Cell operation_cell(const SuiteRecord& suite, const std::string& operation) {
  const auto phase = std::ranges::find(suite.phases, operation, &PhaseRecord::name);
  if (phase == suite.phases.end()) return {.text = "\u2013"};
  Cell cell = time_cell(phase->figures.median_us);
  if (phase->figures.p99_us) {
    cell.note = "p99 " + format_time(*phase->figures.p99_us);
  } else {
    cell.note = std::format("{} samples", phase->figures.iterations);
  }
  // Of records (M5): bytes over the median.
  const auto plaintext = suite.sizes.find("plaintext");
  if (plaintext != suite.sizes.end() && phase->figures.median_us > 0) {
    const double megabytes = static_cast<double>(plaintext->second) / phase->figures.median_us;
    cell.note += "; " + format_number(megabytes, 0) + " MB a second";
  }
  return cell;
}

Table operation_table(const HostView& view, const TrackRecord& track, const Run& run) {
  std::vector<std::string> operations;
  std::vector<std::string> sizes;
  for (const std::string name : {"public_key", "spki", "signature"}) {
    for (const SuiteRecord& suite : track.suites) {
      if (suite.sizes.contains(name)) note_name(sizes, name);
    }
  }
  const bool usual = !sizes.empty();  // the rest is in the details
  for (const SuiteRecord& suite : track.suites) {
    for (const PhaseRecord& phase : suite.phases) note_name(operations, phase.name);
    if (usual) continue;
    for (const auto& [name, bytes] : suite.sizes) note_name(sizes, name);
  }
  Table table;
  table.id = view.id(track.name + "-suites");
  table.caption = track_title(track) + ": medians of each operation, p99 below, and sizes in bytes";
  table.columns = {{"Algorithm", false}, {"Library", false}, {"Family", false}};
  for (const std::string& name : operations) table.columns.push_back({name, true});
  for (const std::string& name : sizes) table.columns.push_back({size_title(name), true});
  table.columns.push_back({"Run", true});
  for (const SuiteRecord& suite : track.suites) {
    if (!suite.absent.empty()) {
      table.rows.push_back(absent_row(suite, run));
      continue;
    }
    Row row;
    row.state = state_of(suite, run);
    row.detail_title = "Operations of " + suite_label(suite);
    row.detail_html = suite_detail(suite, false);
    row.cells = {suite_cell(suite, run), library_cell(suite), {.text = suite.family}};
    for (const std::string& name : operations) row.cells.push_back(operation_cell(suite, name));
    for (const std::string& name : sizes) {
      const auto found = suite.sizes.find(name);
      row.cells.push_back(found == suite.sizes.end() ? Cell{.text = "\u2013"}
                                                     : bytes_cell(found->second));
    }
    row.cells.push_back(run_cell(run));
    table.rows.push_back(std::move(row));
  }
  return table;
}

// ---- threads ------------------------------------------------------------------------------------

void write_throughput(Html& html, const HostView& view, const TrackRecord& track) {
  if (track.throughput.empty()) return;
  Table table;
  table.id = view.id(track.name + "-threads");
  table.caption = track_title(track) + ": a second, with many threads";
  table.columns = {{"Suite", false},
                   {"Library", false},
                   {"Threads", true},
                   {"A second, in all", true},
                   {"A second, each thread", true}};
  for (const ThroughputRecord& one : track.throughput) {
    table.rows.push_back({{{.text = one.suite},
                           {.text = one.provider},
                           {.text = std::to_string(one.threads), .value = one.threads},
                           {.text = format_number(one.per_second, 0), .value = one.per_second},
                           {.text = format_number(one.per_second_per_thread, 0),
                            .value = one.per_second_per_thread}}});
  }
  html.element("h4", "Many threads");
  write_chart(html, view,
              {.kind = "threads",
               .track = track.name,
               .title = "Throughput by threads.",
               .text = "Exchanges or operations a second of all threads together; the thin line is "
                       "one thread's figure times the threads.",
               .table_id = table.id});
  write_table(html, table);
}

void write_first_charts(Html& html, const HostView& view, const TrackRecord& track,
                        const std::string& table) {
  write_chart(
      html, view,
      {.kind = "phases",
       .track = track.name,
       .title = "Where the time goes.",
       .text = "Mean of each phase times its weight; the parts add up to the composed mean. "
               "The client's parts are plain, the server's hatched; the tick is the same "
               "exchange timed end to end.",
       .table_id = table});
  write_chart(
      html, view,
      {.kind = "change",
       .track = track.name,
       .title = "Against the classical baseline.",
       .text = "Composed medians of one run. A full dot with a line is the median and range "
               "over at least 7 runs; a hollow dot is one dated run with its 95 % interval.",
       .table_id = table});
}

void write_further_charts(Html& html, const HostView& view, const TrackRecord& track,
                          const std::string& table) {
  write_chart(html, view,
              {.kind = "distribution",
               .track = track.name,
               .title = "Spread and tail.",
               .text = "Thin line: minimum to maximum; bar: median to p95; tick: p99. The scale is "
                       "logarithmic.",
               .table_id = table});
  write_chart(html, view,
              {.kind = "wire",
               .track = track.name,
               .title = "Bytes on the wire.",
               .text = "Public values of the exchange, by direction.",
               .table_id = table});
}

}  // namespace

std::optional<Section> track_section(const HostView& view, std::string_view name) {
  const Shown shown = shown_run(
      view.host, [&](const Record& record) { return find_track(record, name) != nullptr; });
  if (shown.run == nullptr) return std::nullopt;
  const TrackRecord& track = *find_track(*shown.run->record, name);
  const bool exchange = is_exchange(track);
  const Table table =
      exchange ? exchange_table(view, track, *shown.run) : operation_table(view, track, *shown.run);
  Html html;
  html.element("h3", track_title(track));
  write_source(html, shown);
  if (exchange) {
    write_first_charts(html, view, track, table.id);
  } else {
    write_chart(
        html, view,
        {.kind = "operations",
         .track = name,
         .title = "Time of each operation.",
         .text = "The dot is the median, the line reaches to p99 (to p95 below 100 samples). "
                 "The scale is logarithmic.",
         .table_id = table.id});
    write_chart(html, view,
                {.kind = "sizes",
                 .track = name,
                 .title = "Bytes of key and signature.",
                 .text = "Raw encodings, without X.509 around them.",
                 .table_id = table.id});
  }
  write_table(html, table);
  if (exchange) write_further_charts(html, view, track, table.id);
  write_chart(
      html, view,
      {.kind = "tails",
       .track = name,
       .title = "Tails of the samples.",
       .text = "How many of the samples are slower than a time, for records that keep their "
               "samples; down-sampled to quantiles, the slowest kept.",
       .table_id = table.id});
  write_throughput(html, view, track);
  return Section{view.id(name), track_tab(name), html.take()};
}

}  // namespace pqedge::measure::report
