#include "measure/record/tables.h"

#include <format>

#include "measure/record/markdown.h"

namespace pqedge::measure {
namespace {

using Align = TextTable::Align;

std::string bytes_text(size_t bytes) { return count_text(bytes) + " B"; }

std::string yes(bool value) { return value ? "yes" : "no"; }

Section about(const Record& record) {
  const Environment& e = record.environment;
  const HostFacts& h = e.host;
  Section s{.title = "Run of " + e.date + " on " + h.name};
  const auto line = [&s](std::string text) { s.lines.push_back(std::move(text)); };
  if (record.withheld) line("Withheld: " + record.withheld->reason);
  if (!record.complete) line("Interrupted: it holds what was measured until then.");
  line(std::format("One run: changes are within it, and another run may differ. Record {}.",
                   record.id));
  line(std::format("pqcost {} ({}), {}", e.pqcost_version, e.commit, e.compiler));
  line(std::format("{}, {} cores, {}, Linux {}, {}", h.cpu.model, h.cpu.logical_cores,
                   h.cpu.architecture, h.kernel, h.distribution));
  std::string libraries;
  for (const Library& l : e.libraries) {
    libraries += (libraries.empty() ? "" : ", ") + l.name + ' ' + l.version;
  }
  if (!libraries.empty()) line(libraries);
  line(std::format("Pinned to {}; clock {}, step {:.3g} ns, {:.3g} ns a reading",
                   e.pinned_core ? "core " + std::to_string(*e.pinned_core) : "no core",
                   e.clock_source, e.clock_resolution_ns, e.clock_overhead_ns));
  line(std::format(
      "Steal {:.2f} %, load {:.2f} before and {:.2f} after, reference loop spread "
      "{:.2f} %",
      e.noise.steal_percent, e.noise.load_before, e.noise.load_after, e.noise.spread_percent));
  return s;
}

void add_figures(TextTable& table, const std::string& name, const SuiteRecord& s,
                 const Summary& figures, bool with_bytes) {
  std::string against = s.baseline ? "baseline" : "";
  if (s.against_baseline && with_bytes) {
    against = std::format("{} ({} to {})", change_text(s.against_baseline->value),
                          change_text(s.against_baseline->ci95.first),
                          change_text(s.against_baseline->ci95.second));
  }
  table.add({name, s.provider + (s.code.empty() ? "" : ", " + s.code), time_text(figures.median_us),
             time_text(figures.mean_us), time_text(figures.p95_us),
             figures.p99_us ? time_text(*figures.p99_us) : "", std::format("{:.2f}", figures.tail),
             count_text(figures.iterations),
             with_bytes && s.wire_bytes.total() > 0 ? bytes_text(s.wire_bytes.total()) : "",
             against, s.note});
}

void add_suite(TextTable& table, const SuiteRecord& s) {
  const std::string bytes = s.wire_bytes.total() > 0 ? bytes_text(s.wire_bytes.total()) : "";
  const std::string code = s.provider + (s.code.empty() ? "" : ", " + s.code);
  if (!s.absent.empty()) {
    table.add({s.name, "", "absent", "", "", "", "", "", bytes, "", s.absent});
  } else if (s.withheld) {
    table.add({s.name, code, "withheld", "", "", "", "", "", bytes, "", s.withheld->reason});
  } else if (s.composed) {
    add_figures(table, s.name, s, *s.composed, true);
  } else {
    for (const PhaseRecord& phase : s.phases) {
      add_figures(table, s.name + ' ' + phase.name, s, phase.figures, false);
    }
  }
}

Section throughput_of(const TrackRecord& track) {
  Section s{.title = track.title + ": throughput"};
  s.table = TextTable({{"suite"},
                       {"provider"},
                       {"threads", Align::right},
                       {"a second", Align::right},
                       {"a thread", Align::right}});
  for (const ThroughputRecord& t : track.throughput) {
    s.table.add({t.suite, t.provider, std::to_string(t.threads),
                 std::format("{:.0f}", t.per_second),
                 std::format("{:.0f}", t.per_second_per_thread)});
  }
  return s;
}

Section chains_of(const Record& record) {
  Section s{.title = "Certificate chains"};
  s.table = TextTable({{"chain"},
                       {"leaf", Align::right},
                       {"intermediate", Align::right},
                       {"SCTs", Align::right},
                       {"staple"},
                       {"message", Align::right},
                       {"compressed", Align::right},
                       {"of P-256", Align::right}});
  for (const ChainRecord& c : record.chains) {
    s.table.add({c.name + (c.client_certificate ? " (client)" : ""), bytes_text(c.leaf_der),
                 bytes_text(c.intermediate_der), std::to_string(c.scts), yes(c.staple),
                 bytes_text(c.certificate_message),
                 c.compressed_message ? bytes_text(*c.compressed_message) : "",
                 c.multiple_of_p256 ? std::format("{:.2f}x", *c.multiple_of_p256) : ""});
  }
  return s;
}

Section flights_of(const Record& record) {
  Section s{.title = "First flights"};
  s.table = TextTable({{"chain"},
                       {"transport"},
                       {"group"},
                       {"ClientHello", Align::right},
                       {"server flight", Align::right},
                       {"window", Align::right},
                       {"rule"},
                       {"fits"},
                       {"more round trips", Align::right}});
  for (const FlightRecord& f : record.flights) {
    s.table.add({f.chain, f.transport, f.group, bytes_text(f.client_hello),
                 bytes_text(f.server_flight), bytes_text(f.window), f.window_rule, yes(f.fits),
                 std::to_string(f.extra_round_trips)});
  }
  return s;
}

std::string compressed(const std::map<std::string, size_t>& by_coder) {
  std::string out;
  for (const auto& [coder, bytes] : by_coder) {
    out += (out.empty() ? "" : ", ") + coder + ' ' + count_text(bytes);
  }
  return out;
}

Section tokens_of(const Record& record) {
  Section s{.title = "Tokens"};
  if (!record.token_claims.empty()) s.lines.push_back("Claims: " + record.token_claims);
  s.table = TextTable({{"algorithm"},
                       {"registered"},
                       {"header", Align::right},
                       {"payload", Align::right},
                       {"signature", Align::right},
                       {"total", Align::right},
                       {"of ES256", Align::right},
                       {"first request"},
                       {"following"},
                       {"too large for"}});
  for (const TokenRecord& t : record.tokens) {
    std::string too_large;
    for (const std::string& limit : t.too_large_for) {
      too_large += (too_large.empty() ? "" : ", ") + limit;
    }
    s.table.add({t.algorithm, t.registered ? "yes" : "draft name", count_text(t.header),
                 count_text(t.payload), count_text(t.signature), bytes_text(t.total),
                 std::format("{:.2f}x", t.multiple_of_es256), compressed(t.first_request),
                 compressed(t.following_request), too_large});
  }
  return s;
}

Section limits_of(const Record& record) {
  Section s{.title = "Limits of programs"};
  s.table = TextTable({{"program"},
                       {"HTTP"},
                       {"what"},
                       {"bytes", Align::right},
                       {"outcome"},
                       {"documented limit"},
                       {"source"}});
  for (const LimitRecord& l : record.limits) {
    s.table.add({l.software + ' ' + l.version, l.http_version, l.what, bytes_text(l.bytes),
                 l.outcome, l.documented_limit, l.source});
  }
  return s;
}

Section live_of(const Record& record) {
  Section s{.title = "Handshakes with real servers"};
  s.table = TextTable({{"target"},
                       {"transport"},
                       {"group"},
                       {"retry"},
                       {"cipher"},
                       {"to server", Align::right},
                       {"to client", Align::right},
                       {"packets", Align::right},
                       {"outcome"}});
  for (const LiveRecord& l : record.live) {
    s.table.add({l.target, l.transport, l.group.value_or(""), yes(l.hello_retry_request), l.cipher,
                 bytes_text(l.bytes.client_to_server), bytes_text(l.bytes.server_to_client),
                 l.packets_known ? std::format("{} + {}", l.packets.client_to_server,
                                               l.packets.server_to_client)
                                 : "not known",
                 l.outcome});
  }
  return s;
}

Section scenarios_of(const Record& record) {
  Section s{.title = "Scenarios"};
  s.table = TextTable({{"scenario"},
                       {"variant"},
                       {"outcomes"},
                       {"figure"},
                       {"median", Align::right},
                       {"low", Align::right},
                       {"high", Align::right},
                       {"runs", Align::right},
                       {"emulator's own delay", Align::right}});
  for (const ScenarioRecord& r : record.scenarios) {
    const auto row = [&](const std::string& figure, const Range* range) {
      s.table.add({r.scenario, r.variant, compressed(r.outcomes), figure,
                   range ? time_text(range->median) : "", range ? time_text(range->low) : "",
                   range ? time_text(range->high) : "", range ? count_text(range->runs) : "",
                   time_text(r.added_delay_us)});
    };
    for (const auto& [figure, range] : r.times_us) row(figure, &range);
    if (r.times_us.empty()) row("", nullptr);
  }
  return s;
}

std::string latency_of(const std::map<std::string, double>& by_percentile, const char* name) {
  const auto it = by_percentile.find(name);
  return it == by_percentile.end() ? "" : time_text(it->second);
}

Section loads_of(const Record& record) {
  Section s{.title = "Load"};
  s.table = TextTable({{"target"},
                       {"protocol"},
                       {"loop"},
                       {"appointed", Align::right},
                       {"answered", Align::right},
                       {"failed", Align::right},
                       {"group"},
                       {"p50", Align::right},
                       {"p99", Align::right},
                       {"max", Align::right}});
  for (const LoadRecord& l : record.loads) {
    s.table.add({l.url, l.protocol, l.open ? "open" : "closed",
                 l.open ? std::format("{:.6g}/s", l.rate) : "",
                 l.window_s > 0
                     ? std::format("{:.6g}/s", static_cast<double>(l.requests) / l.window_s)
                     : count_text(l.requests),
                 count_text(l.failed), l.group, latency_of(l.latency_us, "p50"),
                 latency_of(l.latency_us, "p99"), latency_of(l.latency_us, "max")});
  }
  return s;
}

Section absent_of(const Record& record) {
  Section s{.title = "Not measured"};
  s.table = TextTable({{"provider"}, {"algorithm"}, {"reason"}});
  for (const AbsentRecord& a : record.absent) s.table.add({a.provider, a.algorithm, a.reason});
  for (const KnownAnswerRecord& k : record.known_answers) {
    if (!k.passed) {
      s.table.add({k.provider, k.algorithm, "known answer " + k.source + " failed: " + k.detail});
    }
  }
  return s;
}

}  // namespace

TextTable track_table(const TrackRecord& track) {
  TextTable table({{"suite"},
                   {"provider, code"},
                   {"median", Align::right},
                   {"mean", Align::right},
                   {"p95", Align::right},
                   {"p99", Align::right},
                   {"tail", Align::right},
                   {"iterations", Align::right},
                   {"wire", Align::right},
                   {"change (95 %)"},
                   {"note"}});
  for (const SuiteRecord& suite : track.suites) add_suite(table, suite);
  return table;
}

std::vector<Section> byte_sections_of(const Record& record) {
  std::vector<Section> sections;
  for (Section section : {chains_of(record), flights_of(record), tokens_of(record)}) {
    if (section.table.rows() > 0) sections.push_back(std::move(section));
  }
  return sections;
}

std::vector<Section> sections_of(const Record& record) {
  std::vector<Section> sections;
  sections.push_back(about(record));
  const auto keep = [&](Section section) {
    if (section.table.rows() > 0) sections.push_back(std::move(section));
  };
  for (const TrackRecord& track : record.tracks) {
    keep({.title = track.title.empty() ? track.name : track.title, .table = track_table(track)});
    keep(throughput_of(track));
  }
  keep(chains_of(record));
  keep(flights_of(record));
  keep(tokens_of(record));
  keep(limits_of(record));
  keep(live_of(record));
  keep(scenarios_of(record));
  keep(loads_of(record));
  keep(absent_of(record));
  return sections;
}

}  // namespace pqedge::measure
