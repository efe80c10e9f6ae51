#include "measure/record/csv.h"

#include <charconv>
#include <string_view>

namespace pqedge::measure {
namespace {

// RFC 4180 2: quotes around what holds a comma, a quote or a line end. A cell of text that begins
// like a formula is taken for one by spreadsheets: an apostrophe before it makes it text again.
std::string text_cell(std::string_view text) {
  std::string safe;
  if (!text.empty() && std::string_view("=+-@\t\r\n").contains(text.front())) safe = '\'';
  safe += text;
  if (safe.find_first_of(",\"\r\n") == std::string::npos) return safe;
  std::string quoted = "\"";
  for (const char c : safe) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string number_cell(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

constexpr std::string_view kHeader =
    "record,date,host,commit,track,suite,provider,code,item,figure,value,unit,iterations,"
    "withheld\r\n";

class Rows {
 public:
  Rows(std::string& out, const Record& record) : out_(out) {
    const Environment& e = record.environment;
    run_ = text_cell(record.id) + ',' + text_cell(e.date) + ',' + text_cell(e.host.name) + ',' +
           text_cell(e.commit) + ',';
    whole_ = record.withheld ? record.withheld->reason : std::string();
    about("", "", "", "");
  }

  // What the following rows are about; `withheld` adds to that of the whole run.
  void about(std::string_view track, std::string_view suite, std::string_view provider,
             std::string_view code, std::string_view withheld = {}) {
    subject_ = text_cell(track) + ',' + text_cell(suite) + ',' + text_cell(provider) + ',' +
               text_cell(code) + ',';
    withheld_ = text_cell(whole_.empty() ? withheld : std::string_view(whole_));
  }
  void add(std::string_view item, std::string_view figure, double value, std::string_view unit,
           std::string_view iterations = {}) {
    out_ += run_ + subject_ + text_cell(item) + ',' + text_cell(figure) + ',' + number_cell(value) +
            ',' + std::string(unit) + ',' + std::string(iterations) + ',' + withheld_ + "\r\n";
  }
  void add_count(std::string_view item, std::string_view figure, size_t value,
                 std::string_view unit) {
    add(item, figure, static_cast<double>(value), unit);
  }
  void add_all(std::string_view item, const std::map<std::string, size_t>& sizes) {
    for (const auto& [name, size] : sizes) add_count(item, name, size, "B");
  }
  void add(std::string_view item, const Summary& s) {
    const std::string n = std::to_string(s.iterations);
    add(item, "mean", s.mean_us, "us", n);
    add(item, "median", s.median_us, "us", n);
    add(item, "p95", s.p95_us, "us", n);
    if (s.p99_us) add(item, "p99", *s.p99_us, "us", n);
    add(item, "stdev", s.stdev_us, "us", n);
    add(item, "min", s.min_us, "us", n);
    add(item, "max", s.max_us, "us", n);
    add(item, "mean_ci95", s.mean_ci95_us, "us", n);
    add(item, "tail", s.tail, "ratio", n);
    add(item, "ops_per_second", s.ops_per_second, "1/s", n);
  }

 private:
  std::string& out_;
  std::string run_, subject_, whole_, withheld_;
};

void add_suite(Rows& rows, const TrackRecord& track, const SuiteRecord& s) {
  rows.about(track.name, s.name, s.provider, s.code, s.withheld ? s.withheld->reason : "");
  if (!s.absent.empty()) return;
  for (const PhaseRecord& phase : s.phases) {
    rows.add(phase.name, "weight", phase.weight, "");
    rows.add(phase.name, phase.figures);
  }
  if (s.composed) rows.add("composed", *s.composed);
  if (s.client) rows.add("client", *s.client);
  if (s.server) rows.add("server", *s.server);
  if (s.end_to_end) rows.add("end to end", *s.end_to_end);
  if (s.end_to_end_ratio) rows.add("end to end", "over composed", *s.end_to_end_ratio, "ratio");
  if (s.against_baseline) rows.add("composed", "over baseline", s.against_baseline->value, "ratio");
  if (s.wire_bytes.total() > 0) {
    rows.add_count("wire bytes", "client to server", s.wire_bytes.client_to_server, "B");
    rows.add_count("wire bytes", "server to client", s.wire_bytes.server_to_client, "B");
    rows.add_count("wire bytes", "total", s.wire_bytes.total(), "B");
  }
  for (const WireDetail& d : s.wire_details) {
    rows.add_count(d.name, "client to server", d.bytes.client_to_server, "B");
    rows.add_count(d.name, "server to client", d.bytes.server_to_client, "B");
    if (d.fragments) rows.add_count(d.name, "fragments", *d.fragments, "");
  }
  rows.add_all("sizes", s.sizes);
}

void add_tracks(Rows& rows, const Record& record) {
  for (const TrackRecord& track : record.tracks) {
    for (const SuiteRecord& suite : track.suites) add_suite(rows, track, suite);
    for (const ThroughputRecord& t : track.throughput) {
      rows.about(track.name, t.suite, t.provider, "");
      rows.add(std::to_string(t.threads) + " threads", "throughput", t.per_second, "1/s");
    }
  }
}

void add_chains(Rows& rows, const Record& record) {
  for (const ChainRecord& c : record.chains) {
    rows.about("chains", c.name, "", "");
    const std::string item = std::to_string(c.scts) + " SCTs" + (c.staple ? ", staple" : "") +
                             (c.client_certificate ? ", client" : "");
    rows.add_count(item, "leaf", c.leaf_der, "B");
    rows.add_count(item, "intermediate", c.intermediate_der, "B");
    rows.add_count(item, "Certificate message", c.certificate_message, "B");
    if (c.compressed_message) rows.add_count(item, "compressed", *c.compressed_message, "B");
    if (c.multiple_of_p256) rows.add(item, "multiple of P-256", *c.multiple_of_p256, "ratio");
    rows.add_all("savings", c.savings);
  }
  for (const FlightRecord& f : record.flights) {
    rows.about("flights", f.chain, "", "");
    const std::string item = f.transport + ' ' + f.group;
    rows.add_count(item, "ClientHello", f.client_hello, "B");
    rows.add_count(item, "server flight", f.server_flight, "B");
    rows.add_count(item, "window", f.window, "B");
    rows.add_count(item, "extra round trips", f.extra_round_trips, "");
    rows.add_all(item, f.parts);
  }
}

void add_tokens(Rows& rows, const Record& record) {
  for (const TokenRecord& t : record.tokens) {
    rows.about("tokens", t.algorithm, "", "");
    rows.add_count("token", "header", t.header, "B");
    rows.add_count("token", "payload", t.payload, "B");
    rows.add_count("token", "signature", t.signature, "B");
    rows.add_count("token", "total", t.total, "B");
    rows.add("token", "multiple of ES256", t.multiple_of_es256, "ratio");
    rows.add_all("first request", t.first_request);
    rows.add_all("following request", t.following_request);
  }
  for (const LimitRecord& l : record.limits) {
    rows.about("limits", l.software, l.version, "");
    rows.add_count(l.http_version + ": " + l.what, l.outcome, l.bytes, "B");
  }
}

void add_live(Rows& rows, const Record& record) {
  for (const LiveRecord& l : record.live) {
    rows.about("live", l.group.value_or(""), l.transport, "");
    rows.add_count(l.target, "client to server", l.bytes.client_to_server, "B");
    rows.add_count(l.target, "server to client", l.bytes.server_to_client, "B");
    if (l.packets_known) {
      rows.add_count(l.target, "packets to server", l.packets.client_to_server, "");
      rows.add_count(l.target, "packets to client", l.packets.server_to_client, "");
    }
    rows.add_all(l.target, l.sizes);
    for (const auto& [name, time] : l.times_us) rows.add(l.target, name, time, "us");
  }
  for (const ScenarioRecord& s : record.scenarios) {
    rows.about("scenarios", s.scenario, "", "");
    rows.add(s.variant, "added delay", s.added_delay_us, "us");
    for (const auto& [name, count] : s.outcomes) rows.add_count(s.variant, name, count, "");
    for (const auto& [name, range] : s.times_us) rows.add(s.variant, name, range.median, "us");
    for (const auto& [name, range] : s.bytes) rows.add(s.variant, name, range.median, "B");
  }
  for (const LoadRecord& l : record.loads) {
    rows.about("load", l.protocol, l.group, "");
    rows.add(l.url, "rate", l.rate, "1/s");
    rows.add_count(l.url, "requests", l.requests, "");
    rows.add_count(l.url, "failed", l.failed, "");
    rows.add_count(l.url, "handshakes", l.handshakes, "");
    rows.add_count(l.url, "bytes sent", l.bytes_sent, "B");
    rows.add_count(l.url, "bytes received", l.bytes_received, "B");
    for (const auto& [name, time] : l.latency_us) rows.add(l.url, "latency " + name, time, "us");
    for (const auto& [name, time] : l.service_time_us) {
      rows.add(l.url, "service time " + name, time, "us");
    }
    for (const auto& [name, time] : l.handshake_us) {
      rows.add(l.url, "handshake " + name, time, "us");
    }
  }
}

}  // namespace

std::string to_csv(std::span<const Record> records) {
  std::string out(kHeader);
  for (const Record& record : records) {
    Rows rows(out, record);
    add_tracks(rows, record);
    add_chains(rows, record);
    add_tokens(rows, record);
    add_live(rows, record);
  }
  return out;
}

std::string samples_to_csv(const Record& record) {
  std::string out = "record,track,suite,provider,phase,index,microseconds\r\n";
  for (const TrackRecord& track : record.tracks) {
    for (const SuiteRecord& suite : track.suites) {
      for (const PhaseRecord& phase : suite.phases) {
        const std::string before = text_cell(record.id) + ',' + text_cell(track.name) + ',' +
                                   text_cell(suite.name) + ',' + text_cell(suite.provider) + ',' +
                                   text_cell(phase.name) + ',';
        for (size_t i = 0; i < phase.samples_us.size(); ++i) {
          out += before + std::to_string(i) + ',' + number_cell(phase.samples_us[i]) + "\r\n";
        }
      }
    }
  }
  return out;
}

}  // namespace pqedge::measure
