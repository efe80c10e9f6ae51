// pqcost live: real handshakes with a server, read from the wire (M18).
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <format>
#include <thread>

#include "measure/live/handshake.h"
#include "measure/live/options.h"
#include "measure/live/text.h"
#include "programs/pqcost/commands.h"
#include "programs/pqcost/wire_record.h"

namespace pqedge::pqcost {

namespace {

namespace live = measure::live;

// Courtesy toward servers of others: `pqcost load` is for one's own.
constexpr double kMaxRate = 10;
constexpr unsigned kMaxCount = 1000;

struct Arguments {
  live::Options options;
  std::string target;
  std::string starttls;
  bool quic = false;
  bool ssh = false;
  double timeout = 10;
  unsigned count = 1;
  double rate = 1;
  Output output;
};

void declare(CLI::App& app, Arguments& a) {
  app.add_option("target", a.target, "HOST[:PORT]")->required();
  auto* quic = app.add_flag("--quic", a.quic, "over QUIC");
  auto* ssh = app.add_flag("--ssh", a.ssh, "SSH, up to NEWKEYS");
  quic->excludes(ssh);
  app.add_option("--starttls", a.starttls, "smtp, imap, pop3, ldap, xmpp or postgres")
      ->excludes(quic)
      ->excludes(ssh);
  app.add_option("--groups", a.options.groups,
                 "TLS groups as OpenSSL lists them, or SSH methods; default: the library's own");
  app.add_option("--sigalgs", a.options.sigalgs, "signature schemes, as OpenSSL lists them");
  app.add_option("--alpn", a.options.alpn, "names by commas; QUIC: h3");
  app.add_option("--sni", a.options.sni, "server name, when not the host");
  app.add_option("--connect", a.options.connect, "ADDRESS[:PORT] to connect to");
  app.add_option("--cert", a.options.certificate, "client certificate chain, PEM");
  app.add_option("--key", a.options.key, "its key, PEM");
  app.add_option("--timeout", a.timeout, "seconds for a handshake")
      ->check(CLI::Range(0.001, 600.0))
      ->capture_default_str();
  app.add_option("--count", a.count, "handshakes, one after another")
      ->check(CLI::Range(1U, kMaxCount))
      ->capture_default_str();
  app.add_option("--rate", a.rate, std::format("with --count: a second, at most {}", kMaxRate))
      ->check(CLI::Range(0.01, kMaxRate))
      ->capture_default_str();
  declare_output(app, a.output);
}

Result<void> finish(Arguments& a) {
  live::Options& o = a.options;
  o.transport = a.quic  ? live::Transport::kQuic
                : a.ssh ? live::Transport::kSsh
                        : live::Transport::kTls;
  o.timeout = static_cast<Nanos>(a.timeout * static_cast<double>(kSecond));
  if (auto target = live::set_target(o, a.target); !target) return target;
  if (!a.starttls.empty()) {
    const auto protocol = live::parse_starttls(a.starttls);
    if (!protocol) return std::unexpected(protocol.error());
    o.starttls = *protocol;
  }
  // OpenSSL separates groups by colons, SSH by commas: both are understood.
  if (o.transport != live::Transport::kSsh) std::ranges::replace(o.groups, ',', ':');
  return live::validate(o);
}

std::string address_of(const measure::LiveRecord& record) {
  const auto found = record.facts.find("address");
  if (found == record.facts.end()) return {};
  std::string address = found->second.substr(0, found->second.rfind(':'));
  if (address.starts_with('[')) address = address.substr(1, address.size() - 2);
  return address;
}

std::vector<measure::LiveRecord> measure_all(const Arguments& a) {
  std::vector<measure::LiveRecord> records;
  const Nanos start = monotonic_now();
  for (unsigned i = 0; i < a.count && !interrupted(); ++i) {
    const auto due = start + static_cast<Nanos>(i / a.rate * static_cast<double>(kSecond));
    while (monotonic_now() < due && !interrupted()) {
      const Nanos left = due - monotonic_now();
      std::this_thread::sleep_for(std::chrono::nanoseconds(std::min(left, kSecond / 10)));
    }
    if (interrupted()) break;
    records.push_back(live::handshake(a.options));
    if (records.back().outcome != live::kCompleted) {
      complain("live", records.back().facts["error"]);
    }
  }
  return records;
}

}  // namespace

int run_live(int argc, char** argv) {
  CLI::App app{"Makes a real handshake and reads on the wire what was negotiated", "pqcost live"};
  Arguments a;
  declare(app, a);
  bool go_on = false;
  if (const int status = parse(app, argc, argv, go_on); !go_on) return status;
  if (const auto finished = finish(a); !finished) {
    complain("live", finished.error().message);
    return kUsageError;
  }
  if (a.count > 1) {
    std::fprintf(stderr,
                 "pqcost live: %u handshakes at %g a second: each costs the server CPU time; use "
                 "it on servers whose owner agrees\n",
                 a.count, a.rate);
  }
  catch_interrupts();
  auto records = measure_all(a);
  const auto failed = std::ranges::count_if(
      records, [](const auto& record) { return record.outcome != live::kCompleted; });
  if (static_cast<size_t>(failed) == records.size()) return kFailure;  // nothing to write

  measure::Record record = begin_record(argc, argv, address_of(records.front()));
  record.complete = records.size() == a.count;
  record.live = std::move(records);
  const std::string text = record.live.size() == 1
                               ? live::describe(record.live.front())
                               : live::describe(*std::ranges::find(record.live, live::kCompleted,
                                                                   &measure::LiveRecord::outcome)) +
                                     "\nall " + std::to_string(record.live.size()) + ":\n" +
                                     live::describe_all(record.live);
  if (auto written = put_out(record, text, a.output); !written) {
    return complain("live", written.error().message);
  }
  return failed == 0 && record.complete ? kSuccess : kFailure;
}

}  // namespace pqedge::pqcost
