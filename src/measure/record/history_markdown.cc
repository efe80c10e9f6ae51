// A folder of runs as a page to publish (M15, M17).
#include <algorithm>
#include <format>
#include <map>

#include "measure/record/history_output.h"
#include "measure/record/markdown.h"
#include "measure/record/tables.h"
#include "measure/record/text.h"

namespace pqedge::measure {
namespace {

using Align = TextTable::Align;

struct Host {
  std::string name;
  std::vector<const HistoryEntry*> runs;  // by date
};

std::map<std::string, Host> hosts_of(const History& history, const HistoryFilter& filter) {
  std::map<std::string, Host> hosts;
  for (const HistoryEntry& e : history.entries) {
    const HostFacts& h = e.record.environment.host;
    if (!wanted(filter, h.name, h.id)) continue;
    Host& host = hosts[h.id];
    host.name = h.name;
    host.runs.push_back(&e);
  }
  return hosts;
}

// The run whose bytes and chains are shown: the latest that counts, else the latest.
const Record& shown_of(const Host& host) {
  const auto counts = [](const HistoryEntry* e) {
    return !e->record.withheld && e->record.complete;
  };
  const auto found = std::find_if(host.runs.rbegin(), host.runs.rend(), counts);
  return found == host.runs.rend() ? host.runs.back()->record : (*found)->record;
}

void add_host(std::string& out, const Record& record) {
  const Environment& e = record.environment;
  const HostFacts& h = e.host;
  const auto line = [&out](const std::string& text) { out += "- " + text + '\n'; };
  line(std::format("{}, {} cores, {}, {}", h.cpu.model, h.cpu.logical_cores, h.cpu.architecture,
                   h.virtualization.value_or("virtualization unknown")));
  line(std::format("Linux {}, {}", h.kernel, h.distribution));
  line(std::format("pqcost {} ({}), {} {}", e.pqcost_version, e.commit, e.compiler,
                   e.compiler_flags));
  std::string libraries;
  for (const Library& l : e.libraries) {
    libraries += (libraries.empty() ? "" : ", ") + l.name + ' ' + l.version;
  }
  line(libraries);
  line(std::format("Clock {}, step {:.3g} ns, {:.3g} ns a reading; pinned to {}", e.clock_source,
                   e.clock_resolution_ns, e.clock_overhead_ns,
                   e.pinned_core ? "core " + std::to_string(*e.pinned_core) : "no core"));
}

std::string remark_of(const Record& record) {
  if (record.withheld) return "withheld: " + record.withheld->reason;
  return record.complete ? "counts" : "interrupted";
}

TextTable runs_table(const Host& host) {
  TextTable table({{"begun"},
                   {"record"},
                   {"commit"},
                   {"steal", Align::right},
                   {"others' CPU", Align::right},
                   {"reference spread", Align::right},
                   {"verdict"}});
  for (const HistoryEntry* e : host.runs) {
    const NoiseFacts& n = e->record.environment.noise;
    table.add({e->record.environment.date, e->record.id, e->record.environment.commit,
               std::format("{:.2f} %", n.steal_percent),
               n.others_percent ? std::format("{:.1f} %", *n.others_percent) : "",
               std::format("{:.2f} %", n.spread_percent), remark_of(e->record)});
  }
  return table;
}

TextTable figures_table() {
  return TextTable({{"suite"},
                    {"figure"},
                    {"library"},
                    {"code"},
                    {"median of runs (range)", Align::right},
                    {"change to the baseline (range)", Align::right}});
}

void add_figure(TextTable& table, const Series& s) {
  const auto counted =
      std::ranges::count_if(s.points, [](const SeriesPoint& p) { return p.withheld.empty(); });
  const std::string shown =
      s.median_us ? range_text(s.median_us)
                  : std::format("{} of the {} runs that make a range", counted, Range::kLeastRuns);
  table.add({s.key.suite, s.key.figure, s.key.provider + ' ' + s.key.provider_version, s.key.code,
             shown, s.baseline ? "baseline" : change_range_text(s.ratio_to_baseline)});
}

void add_tracks(std::string& out, const std::vector<Series>& all, const std::string& host_id,
                const HistoryFilter& filter, const Record& shown) {
  for (const TrackRecord& track : shown.tracks) {
    TextTable table = figures_table();
    for (const Series& s : all) {
      if (s.key.host_id == host_id && s.key.track == track.name && wanted(filter, s)) {
        add_figure(table, s);
      }
    }
    if (table.rows() == 0) continue;
    out += "\n### " + (track.title.empty() ? track.name : track.title) + "\n\n" + table.markdown();
  }
}

TextTable bytes_table(const Record& shown) {
  TextTable table({{"track"},
                   {"suite"},
                   {"client to server", Align::right},
                   {"server to client", Align::right},
                   {"sum", Align::right}});
  for (const TrackRecord& track : shown.tracks) {
    for (const SuiteRecord& s : track.suites) {
      if (s.wire_bytes.total() == 0) continue;
      table.add({track.name, s.name, count_text(s.wire_bytes.client_to_server),
                 count_text(s.wire_bytes.server_to_client), count_text(s.wire_bytes.total())});
    }
  }
  return table;
}

}  // namespace

std::string history_markdown(const History& history, const HistoryFilter& filter,
                             const std::string& command) {
  std::string out = "# What post-quantum cryptography costs\n\n";
  out += "Written by `" + command +
         "`. Each figure is the median of the runs' medians, with the "
         "lowest and the highest; a run that is withheld counts in none of them. What is measured "
         "and how: [methodology](../methodology.md).\n";
  const std::vector<Series> all = series_of(history);
  for (const auto& [id, host] : hosts_of(history, filter)) {
    const Record& shown = shown_of(host);
    out += "\n## Host " + host.name + "\n\n";
    add_host(out, shown);
    out += "\n### Runs\n\n" + runs_table(host).markdown();
    add_tracks(out, all, id, filter, shown);
    if (TextTable bytes = bytes_table(shown); bytes.rows() > 0) {
      out += "\n### Bytes on the wire\n\nOf run " + shown.id +
             ", from encodings made in it; the same in every run.\n\n" + bytes.markdown();
    }
    for (const Section& section : byte_sections_of(shown)) {
      out += "\n### " + section.title + "\n\n";
      for (const std::string& line : section.lines) out += "- " + line + '\n';
      if (!section.lines.empty()) out += '\n';
      out += section.table.markdown();
    }
  }
  return out;
}

}  // namespace pqedge::measure
