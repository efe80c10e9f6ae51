#include "measure/track/view.h"

#include <algorithm>
#include <format>
#include <map>
#include <set>

#include "measure/record/markdown.h"
#include "measure/record/text.h"
#include "measure/track/catalog.h"

namespace pqedge::measure {

namespace {

using Align = TextTable::Align;

std::string bytes_text(size_t bytes) { return bytes == 0 ? "" : count_text(bytes) + " B"; }

// "12,345", and with fewer than 100 a second also what follows the point.
std::string rate_text(double per_second) {
  if (per_second >= 100) return count_text(static_cast<uint64_t>(per_second + 0.5));
  return std::format("{:.3g}", per_second);
}

// Cells of one row by what the terminal has room for.
struct Column {
  std::string title;
  unsigned needs;  // columns of the terminal
  Align align = Align::right;
};

class Table {
 public:
  Table(std::vector<Column> columns, unsigned width) : columns_(std::move(columns)), width_(width) {
    std::vector<TextTable::Column> shown;
    for (const Column& c : columns_) {
      if (c.needs <= width_) shown.push_back({c.title, c.align});
    }
    table_ = TextTable(shown);
  }
  void add(const std::vector<std::string>& cells) {
    std::vector<std::string> shown;
    for (size_t i = 0; i < cells.size(); ++i) {
      if (columns_[i].needs <= width_) shown.push_back(cells[i]);
    }
    table_.add(std::move(shown));
    empty_ = false;
  }
  std::string text() const { return empty_ ? std::string() : table_.text(); }

 private:
  std::vector<Column> columns_;
  unsigned width_;
  TextTable table_{{}};
  bool empty_ = true;
};

const PhaseRecord* phase_of(const SuiteRecord& suite, std::string_view name) {
  const auto found = std::ranges::find(suite.phases, name, &PhaseRecord::name);
  return found == suite.phases.end() ? nullptr : &*found;
}

std::string median_text(const PhaseRecord* phase) {
  return phase == nullptr ? "" : time_text(phase->figures.median_us);
}

std::string size_of(const SuiteRecord& suite, const std::string& name) {
  const auto found = suite.sizes.find(name);
  return found == suite.sizes.end() ? "" : bytes_text(found->second);
}

std::string change_of(const SuiteRecord& suite) {
  if (suite.baseline) return "baseline";
  return suite.against_baseline ? change_text(suite.against_baseline->value) : "";
}

Table kex_table(const TrackRecord& track, const std::string& provider, unsigned columns) {
  Table table({{"suite", 0, Align::left},
               {"median", 0},
               {"p95", 0},
               {"p99", 110},
               {"tail", 110},
               {"client", 100},
               {"server", 100},
               {"end to end", 120},
               {"wire", 0},
               {"change", 0}},
              columns);
  for (const SuiteRecord& s : track.suites) {
    if (s.provider != provider || !s.composed) continue;
    const Summary& c = *s.composed;
    table.add({s.name, time_text(c.median_us), time_text(c.p95_us),
               c.p99_us ? time_text(*c.p99_us) : "", std::format("{:.1f}x", c.tail),
               s.client ? time_text(s.client->median_us) : "",
               s.server ? time_text(s.server->median_us) : "",
               s.end_to_end_ratio ? std::format("{:.2f}x", *s.end_to_end_ratio) : "",
               bytes_text(s.wire_bytes.total()), change_of(s)});
  }
  return table;
}

Table signature_table(const TrackRecord& track, const std::string& provider, unsigned columns) {
  Table table({{"scheme", 0, Align::left},
               {"keygen", 0},
               {"sign", 0},
               {"sign p99", 95},
               {"verify", 0},
               {"public key", 110},
               {"signature", 0}},
              columns);
  for (const SuiteRecord& s : track.suites) {
    if (s.provider != provider || s.phases.empty()) continue;
    const PhaseRecord* sign = phase_of(s, "Sign");
    table.add({s.name, median_text(phase_of(s, "Keygen")), median_text(sign),
               sign != nullptr && sign->figures.p99_us ? time_text(*sign->figures.p99_us) : "",
               median_text(phase_of(s, "Verify")), size_of(s, "public_key"),
               size_of(s, "signature")});
  }
  return table;
}

Table bulk_table(const TrackRecord& track, const std::string& provider, unsigned columns) {
  Table table({{"cipher", 0, Align::left}, {"encrypt", 0}, {"decrypt", 0}, {"encrypt MB/s", 0}},
              columns);
  for (const SuiteRecord& s : track.suites) {
    const PhaseRecord* encrypt = phase_of(s, "Encrypt");
    const auto size = s.sizes.find("plaintext");
    if (s.provider != provider || encrypt == nullptr || size == s.sizes.end()) continue;
    table.add({s.name, median_text(encrypt), median_text(phase_of(s, "Decrypt")),
               rate_text(static_cast<double>(size->second) / encrypt->figures.median_us)});
  }
  return table;
}

// "portable C: ML-KEM-768, X25519", each code once: no figure is to be read without the code that
// ran.
std::vector<std::string> codes_of(const TrackRecord& track, const std::string& provider) {
  std::map<std::string, std::set<std::string>> names_by_code;
  const auto add = [&](const std::string& part, const std::string& suite) {
    const size_t colon = part.find(": ");
    if (colon == std::string::npos) {
      names_by_code[part].insert(suite);
    } else {
      names_by_code[part.substr(colon + 2)].insert(part.substr(0, colon));
    }
  };
  for (const SuiteRecord& s : track.suites) {
    if (s.provider != provider || s.phases.empty()) continue;
    for (size_t at = 0; at < s.code.size();) {
      const size_t end = std::min(s.code.find("; ", at), s.code.size());
      add(s.code.substr(at, end - at), s.name);
      at = end + 2;
    }
  }
  std::vector<std::string> lines;
  for (const auto& [code, names] : names_by_code) {
    std::string line;
    for (const std::string& name : names) line += (line.empty() ? "" : ", ") + name;
    lines.push_back(line + ": " + code);
  }
  return lines;
}

std::string throughput_view(const TrackRecord& track, unsigned columns) {
  std::set<unsigned> counts;
  for (const ThroughputRecord& t : track.throughput) counts.insert(t.threads);
  if (counts.empty()) return "";
  // As many as there is room for: the fewest threads and the most tell the story.
  while (counts.size() > (columns - 44) / 13 && counts.size() > 2) {
    counts.erase(std::next(counts.begin()));
  }
  std::vector<TextTable::Column> titles{{"a second, in all", Align::left},
                                        {"library", Align::left}};
  for (const unsigned n : counts) {
    titles.push_back({std::format("{} thread{}", n, n == 1 ? "" : "s"), Align::right});
  }
  TextTable table(std::move(titles));
  std::vector<std::pair<std::string, std::string>> shown;
  for (const ThroughputRecord& t : track.throughput) {
    const std::pair key(t.suite, t.provider);
    if (std::ranges::contains(shown, key)) continue;
    shown.push_back(key);
    std::vector<std::string> cells{t.suite, t.provider};
    for (const unsigned n : counts) {
      const auto at = std::ranges::find_if(track.throughput, [&](const ThroughputRecord& other) {
        return other.suite == t.suite && other.provider == t.provider && other.threads == n;
      });
      cells.push_back(at == track.throughput.end() ? "" : rate_text(at->per_second));
    }
    table.add(std::move(cells));
  }
  return "\n" + table.text();
}

}  // namespace

std::string wrapped(const std::string& text, unsigned columns, unsigned indent) {
  std::string out;
  std::string line(indent, ' ');
  size_t at = 0;
  while (at < text.size()) {
    const size_t space = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, space - at);
    at = space + 1;
    if (line.size() > indent && line.size() + 1 + word.size() > columns) {
      out += line + '\n';
      line.assign(indent, ' ');
    }
    if (line.size() > indent) line += ' ';
    line += word;
  }
  return line.size() > indent ? out + line + '\n' : out;
}

std::string tracks_view(const TrackRecord& track, unsigned columns) {
  std::string out = track.title + '\n';
  std::vector<std::pair<std::string, std::string>> providers;  // with their code
  for (const SuiteRecord& s : track.suites) {
    if (s.phases.empty() || s.provider.empty()) continue;
    if (std::ranges::none_of(providers, [&](const auto& p) { return p.first == s.provider; })) {
      providers.emplace_back(s.provider, s.provider_version);
    }
  }
  const bool signatures = track.name == track_name(Track::signatures);
  const bool bulk = track.name == track_name(Track::bulk);
  for (const auto& [provider, version] : providers) {
    out += provider + ' ' + version + '\n';
    out += signatures ? signature_table(track, provider, columns).text()
           : bulk     ? bulk_table(track, provider, columns).text()
                      : kex_table(track, provider, columns).text();
    for (const std::string& code : codes_of(track, provider)) out += wrapped(code, columns, 2);
  }
  for (const SuiteRecord& s : track.suites) {
    const std::string by = s.provider.empty() ? "" : " (" + s.provider + ')';
    if (!s.absent.empty()) out += wrapped(s.name + by + " is absent: " + s.absent, columns, 2);
    if (s.withheld) {
      out += wrapped(s.name + by + " is not to be compared: " + s.withheld->reason, columns, 2);
    }
  }
  return out + throughput_view(track, columns);
}

std::string terminal_view(const Record& record, unsigned columns) {
  columns = std::max(columns, 80U);
  const Environment& e = record.environment;
  std::string out = wrapped(
      std::format("{} on {}: {}, {} core{}, {}", e.date, e.host.name, e.host.cpu.model,
                  e.host.cpu.logical_cores, e.host.cpu.logical_cores == 1 ? "" : "s",
                  e.pinned_core ? std::format("pinned to core {}", *e.pinned_core) : "not pinned"),
      columns, 0);
  out += wrapped(std::format("Steal {:.1f} %, load {:.2f}, reference loop spread {:.1f} %",
                             e.noise.steal_percent, e.noise.load_before, e.noise.spread_percent),
                 columns, 0);
  if (record.withheld) {
    out += wrapped("Not to be compared, the host was not quiet: " + record.withheld->reason,
                   columns, 0);
  }
  if (!record.complete) out += "Interrupted: this is what was measured until then.\n";
  for (const TrackRecord& track : record.tracks) {
    if (!track.suites.empty()) out += '\n' + tracks_view(track, columns);
  }
  if (!record.chains.empty()) out += '\n' + chains_view(record, columns);
  if (!record.tokens.empty()) out += '\n' + tokens_view(record, columns);
  if (!record.tracks.empty()) {
    out += '\n' + wrapped(
                      "Key exchanges are composed of phases timed one by one, both sides "
                      "together. A change is of medians within this run.",
                      columns, 0);
  }
  return out;
}

}  // namespace pqedge::measure
