#include "measure/live/scenario.h"

#include <algorithm>
#include <format>
#include <iterator>
#include <map>
#include <optional>
#include <thread>

#include "measure/host/network.h"
#include "measure/link/command.h"
#include "measure/live/handshake.h"
#include "measure/stats/summary.h"

namespace pqedge::measure::live {

namespace {

class Runner {
 public:
  Runner(const Scenario& scenario, const ScenarioOptions& options, Record& record)
      : scenario_(scenario), options_(options), record_(record) {}

  Result<void> run();

 private:
  // All handshakes of one variant with one seed, in a testbed of their own: nothing that a kernel
  // remembers of an earlier run (path MTU, congestion window) reaches the next.
  Result<std::vector<LiveRecord>> run_once(const Variant& variant, uint64_t seed,
                                           ScenarioRecord& summary);
  Result<std::vector<LiveRecord>> handshakes(const link::Testbed& testbed, const Variant& variant);
  Result<void> measure_emulator(link::Testbed& testbed, ScenarioRecord& summary);
  Result<const MintedChain*> chain(const std::string& algorithm);
  void describe(const Variant& variant, uint64_t seed, LiveRecord& record) const;
  bool cancelled() const { return options_.cancel != nullptr && *options_.cancel; }

  const Scenario& scenario_;
  const ScenarioOptions& options_;
  Record& record_;
  Minter minter_;
  std::map<std::string, MintedChain> chains_;
};

Result<const MintedChain*> Runner::chain(const std::string& algorithm) {
  if (const auto found = chains_.find(algorithm); found != chains_.end()) return &found->second;
  ChainSpec spec;
  spec.root = spec.intermediate = spec.leaf = algorithm;
  auto minted = minter_.mint(spec);
  if (!minted) return std::unexpected(minted.error());
  return &chains_.emplace(algorithm, std::move(*minted)).first->second;
}

Result<void> Runner::measure_emulator(link::Testbed& testbed, ScenarioRecord& summary) {
  const auto added = testbed.measure_added_delay();
  if (!added) return std::unexpected(added.error());
  summary.emulator = link::Testbed::emulator_name();
  summary.added_delay_us = added->median_us;
  summary.added_delay_p99_us = added->p99_us;
  if (record_.environment.network) return {};
  return testbed.client().run([&]() -> Result<void> {
    if (auto facts = network_facts_to(link::kServerIp)) record_.environment.network = *facts;
    return {};
  });
}

void Runner::describe(const Variant& variant, uint64_t seed, LiveRecord& record) const {
  link::Settings link = variant.link;
  link.seed = seed;
  record.scenario = link::describe(link);
  record.scenario["scenario"] = scenario_.name;
  record.scenario["variant"] = variant.name;
}

Result<std::vector<LiveRecord>> Runner::handshakes(const link::Testbed& testbed,
                                                   const Variant& variant) {
  if (!variant.exchange.empty()) {
    return std::vector{exchange_datagrams(testbed, variant.exchange, options_.timeout)};
  }
  std::vector<LiveRecord> records(variant.concurrent);
  std::vector<std::thread> clients;
  std::vector<Result<void>> entered(variant.concurrent);
  for (unsigned i = 0; i < variant.concurrent; ++i) {
    clients.emplace_back([&, i] {
      entered[i] = testbed.client().enter();
      if (entered[i]) records[i] = handshake(variant.client);
    });
  }
  for (std::thread& client : clients) client.join();
  for (const auto& one : entered) {
    if (!one) return std::unexpected(one.error());
  }
  return records;
}

Result<std::vector<LiveRecord>> Runner::run_once(const Variant& variant, uint64_t seed,
                                                 ScenarioRecord& summary) {
  auto testbed = link::Testbed::make(variant.ends);
  if (!testbed) return std::unexpected(testbed.error());
  if (summary.seeds.empty()) {
    if (auto measured = measure_emulator(**testbed, summary); !measured) {
      return std::unexpected(measured.error());
    }
  }
  std::unique_ptr<TlsPeer> peer;
  std::optional<link::Command> server;
  if (variant.exchange.empty() && options_.server.empty()) {
    const auto minted = chain(variant.peer.algorithm);
    if (!minted) return std::unexpected(minted.error());
    auto started = TlsPeer::start(**testbed, variant.peer, **minted, options_.port);
    if (!started) return std::unexpected(started.error());
    peer = std::move(*started);
  } else if (variant.exchange.empty()) {
    auto started =
        link::Command::start((*testbed)->server(), {"/bin/sh", "-c", options_.server}, true);
    if (!started) return std::unexpected(started.error());
    server.emplace(std::move(*started));
    if (auto up = link::wait_for_port(**testbed, options_.port, *server, 10 * kSecond); !up) {
      return fail("--server {}: {}", options_.server, up.error().message);
    }
  }
  link::Settings settings = variant.link;
  settings.seed = seed;
  (*testbed)->set(settings);
  auto records = handshakes(**testbed, variant);
  if (records) {
    for (LiveRecord& record : *records) describe(variant, seed, record);
  }
  (*testbed)->set({});  // goodbyes need not wait
  return records;
}

using Figures = std::map<std::string, std::vector<double>>;

// One run's figures; of several handshakes at once their median, and the slowest beside.
void add_run(const std::vector<LiveRecord>& run, ScenarioRecord& summary, Figures& times,
             Figures& bytes) {
  Figures own;
  for (const LiveRecord& record : run) {
    ++summary.outcomes[record.outcome];
    if (record.outcome != kCompleted) continue;
    for (const auto& [name, value] : record.times_us) own[name].push_back(value);
    bytes["client_to_server"].push_back(static_cast<double>(record.bytes.client_to_server));
    bytes["server_to_client"].push_back(static_cast<double>(record.bytes.server_to_client));
    if (const auto found = record.sizes.find("tcp_retransmits"); found != record.sizes.end()) {
      bytes["client_retransmits"].push_back(static_cast<double>(found->second));
    }
  }
  for (const auto& [name, values] : own) {
    times[name].push_back(median(values));
    if (run.size() > 1) times[name + ", slowest"].push_back(std::ranges::max(values));
  }
}

void add_up(const std::vector<std::vector<LiveRecord>>& runs, ScenarioRecord& summary) {
  Figures times;
  Figures bytes;
  for (const auto& run : runs) add_run(run, summary, times, bytes);
  // Of few runs as well: whoever compares looks at Range::runs.
  const auto ranges = [](const Figures& from, std::map<std::string, Range>& to) {
    for (const auto& [name, values] : from) {
      to[name] = {median(values), std::ranges::min(values), std::ranges::max(values),
                  values.size()};
    }
  };
  ranges(times, summary.times_us);
  ranges(bytes, summary.bytes);
}

// With the run's target; with a server that is not ours, variants that differ in the server alone
// become one.
std::vector<Variant> prepared(std::vector<Variant> variants, const ScenarioOptions& options) {
  std::vector<Variant> out;
  for (Variant& variant : variants) {
    if (options.server.empty()) {
      if (!variant.peer_name.empty()) variant.name += "; " + variant.peer_name;
    } else if (std::ranges::contains(out, variant.name, &Variant::name)) {
      continue;
    }
    variant.client.host = link::kServerIp;
    variant.client.port = options.port;
    variant.client.sni = options.sni;
    variant.client.transport = options.transport;
    variant.client.timeout = options.timeout;
    out.push_back(std::move(variant));
  }
  return out;
}

ScenarioRecord begin_summary(const Scenario& scenario, const Variant& variant,
                             const ScenarioOptions& options) {
  ScenarioRecord summary;
  summary.scenario = scenario.name;
  summary.variant = variant.name;
  summary.settings = link::describe(variant.link);
  summary.settings.erase("seed");
  if (variant.concurrent > 1) summary.settings["concurrent"] = std::to_string(variant.concurrent);
  if (!variant.exchange.empty()) {
    summary.settings["mtu_of_the_ends"] = std::to_string(variant.ends.client_mtu);
    return summary;
  }
  summary.settings["client.groups"] = variant.client.groups;
  summary.settings["server"] =
      options.server.empty()
          ? std::format("in this process: {}, {}", variant.peer.groups, variant.peer.algorithm)
          : options.server;
  return summary;
}

Result<void> Runner::run() {
  auto made = scenario_.variants(options_);
  if (!made) return std::unexpected(made.error());
  const std::vector<Variant> variants = prepared(std::move(*made), options_);
  const size_t of = variants.size() * options_.runs;
  size_t done = 0;
  for (const Variant& variant : variants) {
    ScenarioRecord summary = begin_summary(scenario_, variant, options_);
    std::vector<std::vector<LiveRecord>> all;
    for (unsigned run = 0; run < options_.runs && !cancelled(); ++run, ++done) {
      if (options_.progress) options_.progress(done, of, variant.name);
      const uint64_t seed = options_.first_seed + run;
      auto records = run_once(variant, seed, summary);
      if (!records) return std::unexpected(records.error());
      summary.seeds.push_back(seed);
      all.push_back(std::move(*records));
    }
    if (summary.seeds.size() < options_.runs) record_.complete = false;
    if (all.empty()) break;
    add_up(all, summary);
    record_.scenarios.push_back(std::move(summary));
    for (auto& run_records : all) std::ranges::move(run_records, std::back_inserter(record_.live));
  }
  if (options_.progress && !cancelled()) options_.progress(of, of, "");
  return {};
}

}  // namespace

Result<void> run_scenario(const Scenario& scenario, const ScenarioOptions& options,
                          Record& record) {
  return Runner(scenario, options, record).run();
}

}  // namespace pqedge::measure::live
