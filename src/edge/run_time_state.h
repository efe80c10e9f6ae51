// What a process knows beyond its configuration, and gives to the one that takes its place: what
// operators changed in pools and canaries, and what is known of servers that do not serve.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "upstream/affinity.h"
#include "upstream/server_state.h"
#include "upstream/settings.h"

namespace pqedge::edge {

class Snapshot;

struct PoolHandover {
  std::string pool;
  uint64_t definition = 0;  // definition_of() its settings

  // By orders. They are about the pool as it was defined then.
  std::vector<upstream::ServerSettings> added;
  struct Change {
    std::string address;
    std::optional<uint32_t> weight;
    bool draining = false;
    bool removed = false;
  };
  std::vector<Change> changes;
  bool ordered() const { return !added.empty() || !changes.empty(); }

  // Of servers that are not simply up.
  struct Standing {
    std::string address;
    upstream::ServerState::Known known;
  };
  std::vector<Standing> standings;

  // Clients that are tied to a server by what `affinity` names.
  upstream::KeySource affinity;
  std::vector<upstream::Ties::Tie> ties;
};

// A canary whose share is not its configuration's.
struct CanaryHandover {
  std::string route;
  std::string pool;
  uint32_t configured = 0;  // in hundredths of a percent
  uint32_t share = 0;
  bool rolled_back = false;
};

struct RunTimeState {
  std::vector<PoolHandover> pools;
  std::vector<CanaryHandover> canaries;
};

// Of its servers and its discovery, the same in every process: what orders are about.
uint64_t definition_of(const upstream::PoolSettings& settings);

std::vector<CanaryHandover> canary_states(const Snapshot& snapshot);
// Those whose route, pool and share in the configuration are as they were.
void go_on_with(const Snapshot& snapshot, const std::vector<CanaryHandover>& before);

}  // namespace pqedge::edge
