#include "programs/pqcost/run_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>

#include "base/problem.h"

namespace pqedge::pqcost {

using measure::kTracks;
using measure::Track;
using measure::track_name;

void declare_run(CLI::App& app, RunArguments& a) {
  app.add_option("what", a.what,
                 "tls, ssh, ipsec, signatures, bulk, chains, tokens or all (default)");
  app.add_option("--provider", a.providers,
                 "measure this library; repeatable (default: OpenSSL, and for what it lacks the "
                 "first that has it)");
  app.add_flag("--all-providers", a.all_providers, "every library that offers a suite's primitives")
      ->excludes("--provider");
  app.add_option("--suite", a.suites, "only this suite and the baseline; repeatable");
  app.add_flag("--quick", a.quick, "200 iterations or 0.5 s a phase: for a first look");
  app.add_option("--iterations", a.iterations, "of each phase, at most")
      ->check(CLI::Range(size_t{10}, size_t{10'000'000}))
      ->capture_default_str();
  app.add_option("--seconds", a.seconds, "of each phase, at most (never fewer than 10 iterations)")
      ->check(CLI::Range(0.01, 3600.0))
      ->capture_default_str();
  app.add_flag("--samples", a.samples, "keep each sample in the record");
  app.add_option("--repeat", a.repeat, "so many runs, a record each; from 7 on they give a range")
      ->check(CLI::Range(1U, 1000U))
      ->capture_default_str();
  app.add_option("--core", a.core, "pin to this core (default: the last one allowed)");
  app.add_option("--threads", a.threads,
                 "throughput with 1 to so many threads (default: the cores allowed; 0: none)")
      ->check(CLI::Range(0U, 1024U));
  app.add_option("--output", a.output,
                 "folder for the records (default: pqcost-runs; none with another --format)");
  app.add_option("--format", a.format, "of standard output")
      ->check(CLI::IsMember({"text", "json", "csv", "markdown"}))
      ->capture_default_str();
  app.add_option("--host-name", a.host_name, "instead of the host's own, in the record");
  const std::string flights = "First flights (chains)";
  app.add_option("--segment", a.flights.segments,
                 "bytes of a TCP segment that a flight is held against; repeatable")
      ->check(CLI::Range(size_t{1}, size_t{65'495}))
      ->capture_default_str()
      ->group(flights);
  app.add_option("--window", a.flights.window_segments, "segments of TCP's initial window")
      ->check(CLI::Range(size_t{1}, size_t{10'000}))
      ->capture_default_str()
      ->group(flights);
  app.add_option("--datagram", a.flights.datagram, "bytes of a QUIC datagram")
      ->check(CLI::Range(size_t{1200}, size_t{65'527}))
      ->capture_default_str()
      ->group(flights);
  app.add_option("--group", a.flights.groups, "key exchange of the handshakes; repeatable")
      ->capture_default_str()
      ->group(flights);
  app.add_flag("-q,--quiet", a.quiet, "no progress");
}

Result<Chosen> choose(const std::vector<std::string>& what) {
  Chosen chosen;
  std::vector<std::string_view> known;
  for (const Track track : kTracks) known.push_back(track_name(track));
  known.insert(known.end(), {"chains", "tokens", "all"});
  std::vector<std::string> words = what;
  if (words.empty()) words.emplace_back("all");
  bool all = false;
  for (const std::string& word : words) {
    if (!std::ranges::contains(known, word)) {
      const std::string hint = did_you_mean(word, known);
      return fail("there is no track {}: {}", in_quotes(word),
                  hint.empty() ? "tls, ssh, ipsec, signatures, bulk, chains, tokens or all" : hint);
    }
    all |= word == "all";
  }
  const auto named = [&](std::string_view name) {
    return all || std::ranges::contains(words, name);
  };
  for (const Track track : kTracks) {
    if (named(track_name(track))) chosen.tracks.push_back(track);
  }
  chosen.chains = named("chains");
  chosen.tokens = named("tokens");
  return chosen;
}

void make_quick(const CLI::App& app, RunArguments& a) {
  if (app.count("--iterations") == 0) a.iterations = 200;
  if (app.count("--seconds") == 0) a.seconds = 0.5;
}

}  // namespace pqedge::pqcost
