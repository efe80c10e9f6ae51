// What the path does to handshakes: scenarios over the emulated link (M19). Needs root.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "measure/link/settings.h"
#include "measure/link/testbed.h"
#include "measure/live/datagrams.h"
#include "measure/live/options.h"
#include "measure/live/peer.h"
#include "measure/record/record.h"

namespace pqedge::measure::live {

// One line of a scenario: a link, a client and a server.
struct Variant {
  std::string name;       // of link and client
  std::string peer_name;  // of the server, where it is ours
  link::Settings link;    // its seed is that of the run
  link::TestbedOptions ends;
  Options client;                      // host and port are set by the run
  PeerOptions peer;                    // not used when a server command is given
  unsigned concurrent = 1;             // handshakes at once
  std::vector<ExchangeStep> exchange;  // not empty: datagrams instead of a handshake
};

struct ScenarioOptions {
  unsigned runs = 7;
  uint64_t first_seed = 1;          // run i has first_seed + i
  link::Settings base;              // what every variant's link begins with
  std::optional<Nanos> round_trip;  // of scenarios that do not vary it; none: their own
  Transport transport = Transport::kTls;
  std::string server;   // a shell command in the server's namespace; empty: our own peer
  uint16_t port = 443;  // that it listens on
  std::string sni = "server.example";
  Nanos timeout = 3 * kSecond;  // of one handshake
  std::function<void(size_t done, size_t of, const std::string& next)> progress;
  const std::atomic<bool>* cancel = nullptr;
};

struct Scenario {
  std::string_view name;
  std::string_view summary;  // one line
  Result<std::vector<Variant>> (*variants)(const ScenarioOptions& options);
};
std::span<const Scenario> scenarios();

// Appends to record.live and record.scenarios; cancelled, what was done stays and record.complete
// is false. The network's facts are those of the client's namespace.
Result<void> run_scenario(const Scenario& scenario, const ScenarioOptions& options, Record& record);

}  // namespace pqedge::measure::live
