#include <algorithm>
#include <format>
#include <functional>

#include "measure/report/format.h"
#include "measure/report/sections.h"

namespace pqedge::measure::report {

namespace {

std::string yes_no(const std::optional<bool>& value) {
  return value ? (*value ? "on" : "off") : "not known";
}

template <typename List>
std::string join(const List& list, std::string_view between = ", ") {
  std::string text;
  for (const std::string& one : list) {
    if (!text.empty()) text += between;
    text += one;
  }
  return text;
}

using Fact = std::function<void(std::string_view, std::string_view)>;

void host_facts(const Fact& fact, const HostFacts& host) {
  fact("Host", host.name + " (" + format_short(host.id) + ")");
  fact("CPU", std::format("{}, {}, {} logical cores", host.cpu.model, host.cpu.architecture,
                          host.cpu.logical_cores));
  fact("Instruction sets", join(host.cpu.features, " "));
  fact("Overrides", join(host.cpu.overrides));
  fact("SMT", yes_no(host.cpu.smt));
  fact("Governor", host.cpu.governor.value_or("not known"));
  if (host.cpu.mhz_before && host.cpu.mhz_after) {
    fact("Frequency",
         std::format("{} MHz before, {} MHz after", format_number(*host.cpu.mhz_before, 0),
                     format_number(*host.cpu.mhz_after, 0)));
  }
  fact("System", host.distribution + ", " + host.kernel);
  fact("Virtualisation", host.virtualization.value_or("cannot be told"));
}

void noise_facts(const Fact& fact, const NoiseFacts& noise) {
  fact("Steal", format_percent(noise.steal_percent));
  if (noise.core_steal_percent) {
    fact("Steal of the pinned core", format_percent(*noise.core_steal_percent));
  }
  if (noise.others_percent) fact("Other processes", format_percent(*noise.others_percent));
  fact("Load", std::format("{} before, {} after", format_number(noise.load_before, 2),
                           format_number(noise.load_after, 2)));
  fact("Spread of the reference loop", format_percent(noise.spread_percent));
  if (noise.reference_us) fact("Reference loop", format_time(*noise.reference_us));
  if (noise.frequency_change_percent) {
    fact("Change of frequency", format_percent(*noise.frequency_change_percent));
  }
  fact("Involuntary switches", format_count(noise.involuntary_switches));
  fact("Could not be read", join(noise.unknown));
}

void network_facts(const Fact& fact, const NetworkFacts& network) {
  fact("Congestion control", network.congestion_control);
  fact("Queueing discipline", network.qdisc);
  if (network.initial_window) {
    fact("Initial window", std::format("{} segments", *network.initial_window));
  }
  std::string offloads;
  for (const auto& [name, state] : network.offloads) {
    if (!offloads.empty()) offloads += ", ";
    offloads += name + " " + state;
  }
  fact("Offloads", offloads);
}

void write_run(Html& html, const Run& run, bool open) {
  const Record& record = *run.record;
  const Environment& e = record.environment;
  html.raw(std::format("<details class=\"run\" id=\"run-{}\"{}>", run.number, open ? " open" : ""));
  html.open("summary").element("span", format_date(e.date) + " \u00b7 " + format_short(e.commit));
  if (record.withheld) html.raw(" <span class=\"badge withheld\">withheld</span>");
  if (!record.complete) html.raw(" <span class=\"badge\">interrupted</span>");
  html.close("summary");
  html.open("dl", {{"class", "facts"}});
  const Fact fact = [&](std::string_view name, std::string_view value) {
    if (value.empty()) return;
    html.open("div").element("dt", name).element("dd", value).close("div");
  };
  if (record.withheld) fact("Withheld", record.withheld->reason);
  fact("Record", record.id + " in " + run.file);
  fact("Command", e.command_line);
  fact("pqcost", e.pqcost_version + ", commit " + e.commit);
  fact("Compiler", e.compiler + (e.compiler_flags.empty() ? "" : " with " + e.compiler_flags));
  std::string libraries;
  for (const Library& library : e.libraries) {
    if (!libraries.empty()) libraries += ", ";
    libraries += library.name + " " + library.version;
  }
  fact("Libraries", libraries);
  host_facts(fact, e.host);
  fact("Pinned to core", e.pinned_core ? std::to_string(*e.pinned_core) : "not pinned");
  fact("Clock",
       std::format("{}: resolution {} ns, reading costs {} ns, subtracted", e.clock_source,
                   format_number(e.clock_resolution_ns, 1), format_number(e.clock_overhead_ns, 1)));
  noise_facts(fact, e.noise);
  if (e.network) network_facts(fact, *e.network);
  html.close("dl").close("details").raw("\n");
}

void write_answers(Html& html, const HostView& view, const Run& run) {
  Table table;
  table.id = view.id("answer-table");
  table.caption = "Known answers, run before anything is timed";
  table.columns = {{"Library", false}, {"Algorithm", false}, {"Result", false}, {"Vector", false}};
  for (const KnownAnswerRecord& answer : run.record->known_answers) {
    table.rows.push_back(
        {{{.text = answer.provider},
          {.text = answer.algorithm},
          answer.passed ? Cell{.text = "passed"} : Cell{.text = answer.detail, .badge = "failed"},
          {.text = answer.source}}});
  }
  if (!table.rows.empty()) write_table(html, table);
}

void write_absent(Html& html, const HostView& view, const Run& run) {
  Table table;
  table.id = view.id("absent-table");
  table.caption = "Absent or left out: not measured, never estimated";
  table.columns = {{"Library", false}, {"Algorithm", false}, {"Reason", false}};
  for (const AbsentRecord& one : run.record->absent) {
    table.rows.push_back({{{.text = one.provider},
                           {.text = one.algorithm.empty() ? "all" : one.algorithm},
                           {.text = one.reason}}});
  }
  if (!table.rows.empty()) write_table(html, table);
}

}  // namespace

std::optional<Section> check_section(const HostView& view) {
  const Shown shown = shown_run(view.host, [](const Record& record) {
    return !record.known_answers.empty() || !record.absent.empty();
  });
  if (shown.run == nullptr) return std::nullopt;
  const auto& answers = shown.run->record->known_answers;
  const auto passed = std::ranges::count_if(answers, &KnownAnswerRecord::passed);
  Html html;
  html.element("h3", "Known answers and absences");
  write_source(html, shown);
  html.element("p",
               std::format("{} of {} known answers passed. A library's algorithm that fails one "
                           "is left out of all timing.",
                           passed, answers.size()));
  write_answers(html, view, *shown.run);
  write_absent(html, view, *shown.run);
  return Section{view.id("checks"), "Checks", html.take()};
}

Section run_section(const HostView& view) {
  Html html;
  html.element("h3", "Runs of this host");
  html.element("p",
               "Where and how each run was measured. Every figure of this page names its run.");
  size_t shown = 0;
  for (const Run* run : view.host.runs) {
    if (shown == kMostRuns) {
      html.element(
          "p", std::format("{} older runs are left out here.", view.host.runs.size() - kMostRuns));
      break;
    }
    write_run(html, *run, shown++ == 0);
  }
  return {view.id("runs"), "Runs", html.take()};
}

}  // namespace pqedge::measure::report
