#include <format>

#include "measure/chain/algorithm.h"
#include "measure/chain/chain.h"
#include "measure/chain/count.h"
#include "measure/chain/flight.h"
#include "measure/chain/window.h"

namespace pqedge::measure {
namespace {

constexpr std::string_view kSyntheticScts =
    "the SCTs are synthetic: right lengths, random signatures (RFC 6962 3.2)";
constexpr std::string_view kNoSlhLeaf =
    "minted and counted, not captured: OpenSSL signs no TLS handshake with an SLH-DSA key";

bool cancelled(const ChainRunOptions& options) {
  return options.cancel != nullptr && options.cancel->load(std::memory_order_relaxed);
}

void add_note(std::string& note, std::string_view text) {
  if (!note.empty()) note += "; ";
  note += text;
}

// The first window is the flight's own verdict too.
void judge(FlightRecord& record, std::vector<WindowVerdict> windows) {
  if (!windows.empty()) {
    const WindowVerdict& first = windows.front();
    record.segment = first.segment;
    record.window = first.window;
    record.window_rule = first.rule;
    record.fits = first.fits;
    record.extra_round_trips = first.extra_round_trips;
  }
  record.windows = std::move(windows);
}

FlightRecord record_of(const CapturedFlight& flight, const std::string& chain,
                       const std::string& group, std::string_view transport) {
  FlightRecord record;
  record.chain = chain;
  record.transport = transport;
  record.group = group;
  record.client_hello = flight.client_hello;
  record.client_datagrams = flight.client_datagrams;
  record.server_flight = flight.server_flight;
  record.parts = flight.parts;
  record.client_flight = flight.client_flight;
  return record;
}

FlightRecord tcp_record(const CapturedFlight& flight, const std::string& chain,
                        const std::string& group, const ChainRunOptions& options) {
  FlightRecord record = record_of(flight, chain, group, "tcp");
  std::vector<WindowVerdict> windows;
  for (const size_t segment : options.segments) {
    windows.push_back(tcp_window(flight.server_flight, segment, options.window_segments));
  }
  judge(record, std::move(windows));
  return record;
}

FlightRecord quic_record(const CapturedFlight& flight, const std::string& chain,
                         const std::string& group, const ChainRunOptions& options) {
  FlightRecord record = record_of(flight, chain, group, "quic");
  const auto extra = static_cast<unsigned>(flight.rounds.size() - 1);
  judge(record, {quic_credit(flight.server_flight, flight.client_bytes, options.datagram, extra),
                 quic_window(flight.server_flight, options.datagram)});
  std::string rounds;
  for (const size_t bytes : flight.rounds) {
    if (!rounds.empty()) rounds += " + ";
    rounds += std::format("{}", bytes);
  }
  record.note = std::format("sent in {} turn{}: {} bytes", flight.rounds.size(),
                            flight.rounds.size() == 1 ? "" : "s", rounds);
  if (flight.client_rounds > 1) {
    add_note(record.note,
             std::format("the client's certificate took {} turns", flight.client_rounds));
  }
  return record;
}

// A larger hello brings a larger credit: who needs fewer round trips for it than with the smallest?
void note_who_saves(std::vector<FlightRecord>& flights, size_t from) {
  for (size_t i = from; i < flights.size(); ++i) {
    for (size_t k = from; k < flights.size(); ++k) {
      FlightRecord& more = flights[i];
      const FlightRecord& less = flights[k];
      if (more.transport != "quic" || less.transport != "quic" ||
          more.client_datagrams <= less.client_datagrams ||
          more.extra_round_trips >= less.extra_round_trips) {
        continue;
      }
      add_note(more.note, std::format("{} round trip(s) fewer than with {}: its hello of {} "
                                      "datagrams brings more credit",
                                      less.extra_round_trips - more.extra_round_trips, less.group,
                                      more.client_datagrams));
    }
  }
}

Result<void> capture(const ChainSpec& spec, const MintedChain& chain, ChainRecord& line,
                     const ChainRunOptions& options, Record& record) {
  const size_t first = record.flights.size();
  for (const std::string& group : options.groups) {
    const auto tcp = capture_tcp(spec, chain, group);
    if (!tcp) return std::unexpected(tcp.error());
    record.flights.push_back(tcp_record(*tcp, line.name, group, options));
    if (!spec.compression.empty()) {
      const auto seen = tcp->parts.find("CompressedCertificate");
      if (seen == tcp->parts.end()) return fail("OpenSSL sent the certificate uncompressed");
      line.compressed_message = seen->second;
    }
    const auto quic = capture_quic(spec, chain, group, options.datagram);
    if (!quic) return std::unexpected(quic.error());
    record.flights.push_back(quic_record(*quic, line.name, group, options));
  }
  note_who_saves(record.flights, first);
  line.captured = true;
  return {};
}

Result<void> run_one(Minter& minter, ChainCounter& counter, const ChainSpec& spec,
                     const ChainRunOptions& options, Record& record) {
  const auto leaf = find_chain_algorithm(spec.leaf);
  if (!leaf) return std::unexpected(leaf.error());
  const auto chain = minter.mint(spec);
  if (!chain) return std::unexpected(chain.error());
  auto line = counter.count(spec, *chain);
  if (!line) return std::unexpected(line.error());
  if (!chain->sct_list.empty()) add_note(line->note, kSyntheticScts);
  if ((*leaf)->tls_leaf) {
    if (auto done = capture(spec, *chain, *line, options, record); !done) return done;
  } else {
    add_note(line->note, kNoSlhLeaf);
  }
  record.chains.push_back(std::move(*line));
  return {};
}

Result<void> check(const ChainRunOptions& options) {
  if (options.datagram < 1200 || options.datagram > 65'527) {
    return fail("a QUIC datagram has 1,200 to 65,527 bytes, not {}", options.datagram);
  }
  if (options.window_segments == 0 || options.segments.empty()) {
    return fail("a window has at least one segment");
  }
  for (const size_t segment : options.segments) {
    if (segment == 0) return fail("a segment has at least one byte");
  }
  return {};
}

}  // namespace

Result<void> run_chains(const ChainRunOptions& options, Record& record) {
  if (auto good = check(options); !good) return good;
  Minter minter;
  ChainCounter counter(minter);
  size_t done = 0;
  for (const ChainSpec& spec : options.chains) {
    if (cancelled(options)) {
      record.complete = false;
      return {};
    }
    const std::string name = chain_name(spec);
    if (options.progress) options.progress(done, options.chains.size(), name);
    const size_t flights = record.flights.size();
    if (auto ran = run_one(minter, counter, spec, options, record); !ran) {
      record.flights.resize(flights);  // a chain is in the record whole or not at all
      record.absent.push_back({"OpenSSL", "chain " + name, ran.error().message});
    }
    ++done;
  }
  return {};
}

}  // namespace pqedge::measure
