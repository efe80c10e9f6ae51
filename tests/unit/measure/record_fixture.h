// Records for the tests of record/ and calculator/, with figures that are easy to add up.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "measure/record/record.h"
#include "measure/stats/summary.h"

namespace pqedge::measure::test {

// Around `centre`: 200 samples, evenly from 90 % to 110 %.
inline std::vector<double> samples_around(double centre) {
  std::vector<double> samples;
  for (int i = 0; i < 200; ++i) samples.push_back(centre * (0.9 + 0.2 * i / 199));
  return samples;
}

inline Summary summary_around(double centre) { return summarize(samples_around(centre)); }

inline PhaseRecord phase(std::string name, std::string side, double weight, double centre) {
  return {.name = std::move(name),
          .side = std::move(side),
          .weight = weight,
          .figures = summary_around(centre)};
}

// Its composed mean is the sum of the phases by weight, as M7 wants it.
inline Summary composed_of(const std::vector<PhaseRecord>& phases) {
  double sum = 0;
  for (const PhaseRecord& p : phases) sum += p.weight * p.figures.mean_us;
  return summary_around(sum);
}

inline SuiteRecord exchange(std::string name, std::string family, std::vector<PhaseRecord> phases) {
  SuiteRecord s;
  s.name = std::move(name);
  s.family = std::move(family);
  s.provider = "OpenSSL";
  s.provider_version = "3.5.9";
  s.code = "portable C";
  s.keys = "parsed";
  s.phases = std::move(phases);
  s.composed = composed_of(s.phases);
  return s;
}

inline Environment environment() {
  Environment e;
  e.date = "2026-11-30T18:30:00Z";
  e.pqcost_version = "0.1.0";
  e.commit = "0123456789ab";
  e.compiler = "g++ 14.2";
  e.compiler_flags = "-O2";
  e.command_line = "pqcost run tls";
  e.libraries = {{"OpenSSL", "3.5.9"}, {"Botan", "3.7.1"}};
  e.host.name = "lab";
  e.host.id = "aabbccddeeff0011";
  e.host.kernel = "6.12.0";
  e.host.distribution = "Debian 13";
  e.host.virtualization = "kvm";
  e.host.cpu.model = "EPYC";
  e.host.cpu.architecture = "x86_64";
  e.host.cpu.features = {"avx2"};
  e.host.cpu.logical_cores = 2;
  e.pinned_core = 1;
  e.clock_source = "CLOCK_MONOTONIC";
  e.clock_resolution_ns = 1;
  e.clock_overhead_ns = 22.5;
  e.noise.spread_percent = 0.5;
  e.noise.reference_us = 100;
  return e;
}

inline constexpr std::string_view kId = "0123456789abcdef0123456789abcdef";

// X25519 (keygen 30, derive 40) against X25519MLKEM768 (with 50, 30, 50 more).
inline TrackRecord tls_track() {
  TrackRecord t{.name = "tls", .title = "TLS 1.3 key exchange"};
  t.suites.push_back(exchange(
      "X25519", "classical",
      {phase("Classical keygen", "both", 2, 30), phase("Classical derive", "both", 2, 40)}));
  t.suites.back().baseline = true;
  t.suites.back().code_point = 0x1d;
  t.suites.back().wire_bytes = {32, 32};
  t.suites.push_back(
      exchange("X25519MLKEM768", "hybrid",
               {phase("KEM keygen", "client", 1, 50), phase("KEM encapsulate", "server", 1, 30),
                phase("KEM decapsulate", "client", 1, 50), phase("Classical keygen", "both", 2, 30),
                phase("Classical derive", "both", 2, 40)}));
  SuiteRecord& hybrid = t.suites.back();
  hybrid.code_point = 0x11ec;
  hybrid.wire_bytes = {1216, 1120};
  hybrid.wire_details = {{"whole hellos", {1500, 1210}, 2, "RFC 8446 4.1"}};
  hybrid.against_baseline = Ratio{270.0 / 140, {1.9, 1.95}};
  hybrid.end_to_end = summary_around(280);
  hybrid.end_to_end_ratio = 280.0 / 270;
  hybrid.sizes = {{"kem_public_key", 1184}};
  t.throughput = {{"X25519", "OpenSSL", 2, 12000, 6000}};
  return t;
}

inline SuiteRecord signature(std::string name, std::string family, double keygen, double sign,
                             double verify) {
  SuiteRecord s = exchange(std::move(name), std::move(family),
                           {phase("Keygen", "server", 1, keygen), phase("Sign", "server", 1, sign),
                            phase("Verify", "client", 1, verify)});
  s.composed.reset();
  s.sizes = {{"public_key", 65}, {"signature", 72}};
  return s;
}

inline Record small_record() {
  Record r;
  r.id = kId;
  r.environment = environment();
  r.tracks.push_back(tls_track());
  return r;
}

// Every list has something, every optional is there.
inline Record full_record() {
  Record r = small_record();
  r.tracks.push_back({.name = "signatures", .title = "Signatures"});
  r.tracks.back().suites.push_back(signature("ECDSA-P256", "classical", 20, 25, 70));
  r.tracks.back().suites.push_back(signature("ML-DSA-65", "lattice", 150, 900, 170));
  SuiteRecord& withheld = r.tracks.back().suites.back();
  withheld.withheld = Withheld{"steal was 3.1 %, more than 1 %"};
  SuiteRecord absent;
  absent.name = "Falcon-512 (round 3)";
  absent.absent = "no library here has it";
  r.tracks.back().suites.push_back(absent);
  SuiteRecord& first = r.tracks.front().suites.front();
  first.note = "a | bar, a <tag>";
  first.client = summary_around(70);
  first.server = summary_around(70);
  first.phases[0].samples_us = samples_around(30);
  Environment& e = r.environment;
  e.host.cpu.smt = true;
  e.host.cpu.governor = "performance";
  e.host.cpu.mhz_before = 2450.5;
  e.host.cpu.mhz_after = 2449;
  e.noise.frequency_change_percent = -0.06;
  e.noise.core_steal_percent = 0.1;
  e.noise.others_percent = 0.2;
  e.network = NetworkFacts{"cubic", "pfifo_fast", 10, {{"tso", "on"}}};
  r.withheld = Withheld{"the run's host was loaded: 2.3"};
  ChainRecord chain;
  chain.name = "ECDSA P-256";
  chain.leaf_algorithm = chain.intermediate_algorithm = chain.root_algorithm = "ECDSA-P256";
  chain.leaf_der = 466;
  chain.intermediate_der = 431;
  chain.certificate_message = 907;
  chain.compressed_message = 700;
  chain.multiple_of_p256 = 1;
  chain.savings = {{"intermediate left out", 434}};
  r.chains.push_back(chain);
  FlightRecord flight;
  flight.chain = chain.name;
  flight.transport = "tcp";
  flight.group = "X25519";
  flight.client_hello = 250;
  flight.server_flight = 1200;
  flight.parts = {{"Certificate", 907}};
  flight.window_rule = "10 x 1460 (RFC 6928)";
  flight.windows = {{1460, 14600, "10 x 1460 (RFC 6928)", true, 0}};
  r.flights.push_back(flight);
  TokenRecord token;
  token.algorithm = "ES256";
  token.registered = true;
  token.total = 404;
  token.first_request = {{"hpack", 420}};
  token.fits_in = {"nginx"};
  r.tokens.push_back(token);
  r.token_claims = R"({"iss":"https://issuer.example"})";
  r.documented_limits = {{"nginx", 8192, "a line", "400", "nginx.org"}};
  r.limits = {{"nginx", "1.26", "HTTP/2", "token", 404, "200", "8 KiB", "nginx.org"}};
  LiveRecord live;
  live.target = "example:443";
  live.transport = "tls";
  live.group = "X25519MLKEM768";
  live.group_code = 0x11ec;
  live.times_us = {{"connect", 100.5}};
  live.facts = {{"alpn", "h2"}};
  r.live.push_back(live);
  ScenarioRecord scenario;
  scenario.scenario = "loss";
  scenario.variant = "1 %";
  scenario.seeds = {1, 2, 3};
  scenario.outcomes = {{"handshake", 3}};
  scenario.times_us = {{"finished", {1000, 950, 1100, 7}}};
  r.scenarios.push_back(scenario);
  LoadRecord load;
  load.url = "https://example/";
  load.protocol = "h2";
  load.requests = 1000;
  load.statuses = {{"200", 1000}};
  load.latency_us = {{"p50", 812.5}};
  load.histogram_upper_us = {812.5, 900};
  load.histogram_count = {500, 500};
  r.loads.push_back(load);
  r.known_answers = {{"OpenSSL", "X25519", "RFC 7748 6.1", true, ""}};
  r.absent = {{"liboqs", "", "not installed"}};
  return r;
}

}  // namespace pqedge::measure::test
