#include "edge/run_time_state.h"

#include <format>

#include "base/log.h"
#include "edge/pool_keeper.h"
#include "edge/snapshot.h"
#include "upstream/hash.h"

namespace pqedge::edge {

using upstream::KeySource;
using upstream::Member;
using upstream::ServerSettings;
using upstream::ServerState;

namespace {

// Of one pool. They are some MiB, and sent while the new process starts.
constexpr size_t kMostTies = 1 << 17;

}  // namespace

uint64_t definition_of(const upstream::PoolSettings& settings) {
  uint64_t hash = 0;
  for (const ServerSettings& s : settings.servers) {
    hash = upstream::stable_hash(
        std::format("{}|{}|{}|{}", s.address.to_string(), s.weight, s.priority, s.id), hash);
  }
  const upstream::DiscoverySettings& d = settings.discovery;
  hash = upstream::stable_hash(std::format("{}|{}|{}|{}|{}|{}|{}", static_cast<int>(d.kind), d.name,
                                           d.port, d.file, d.min_ttl, d.max_ttl, d.timeout),
                               hash);
  for (const net::Address& r : d.resolvers) hash = upstream::stable_hash(r.to_string(), hash);
  return hash;
}

// ---- pools -------------------------------------------------------------------------------------

std::vector<PoolHandover> PoolKeeper::run_time_state() const {
  const Nanos now = monotonic_now();
  std::vector<PoolHandover> states;
  for (const auto& [name, kept] : pools_) {
    PoolHandover state{.pool = name,
                       .definition = definition_of(kept.settings),
                       .added = kept.added,
                       .changes = {},
                       .standings = {},
                       .affinity = kept.settings.affinity,
                       .ties = {}};
    for (const auto& [address, c] : kept.changes) {
      state.changes.push_back({address, c.weight, c.draining, c.removed});
    }
    for (const Member& m : *kept.members) {
      ServerState::Known known = m.state->known(now);
      if (known.is_plain()) continue;
      state.standings.push_back({m.state->address.to_string(), std::move(known)});
    }
    if (const auto ties = kept.shared->present_ties()) state.ties = ties->known(kMostTies);
    if (state.ordered() || !state.standings.empty() || !state.ties.empty()) {
      states.push_back(std::move(state));
    }
  }
  return states;
}

void PoolKeeper::go_on_with(std::vector<PoolHandover> before) {
  for (PoolHandover& state : before) {
    std::string pool = state.pool;
    before_.insert_or_assign(std::move(pool), std::move(state));
  }
}

// A pool that this process begins with.
void PoolKeeper::take_state(Kept& kept) {
  const auto it = before_.find(kept.settings.name);
  if (it == before_.end()) return;
  PoolHandover state = std::move(it->second);
  before_.erase(it);
  for (PoolHandover::Standing& s : state.standings) {
    kept.standings.insert_or_assign(std::move(s.address), std::move(s.known));
  }
  // A cookie names the server by itself.
  const KeySource::Kind by = kept.settings.affinity.kind;
  const bool has_table = by != KeySource::Kind::none && by != KeySource::Kind::cookie;
  if (has_table && state.affinity == kept.settings.affinity) {
    kept.shared->ties(kept.settings.affinity_entries)->add(state.ties);
  }
  if (!state.ordered()) return;
  if (state.definition != definition_of(kept.settings)) {
    log::warning("upgrade",
                 "pool '{}': its servers are others in the configuration now: what was changed at "
                 "run time is dropped",
                 kept.settings.name);
    return;
  }
  for (PoolHandover::Change& c : state.changes) {
    kept.changes.insert_or_assign(
        std::move(c.address),
        Change{.weight = c.weight, .draining = c.draining, .removed = c.removed});
  }
  kept.added = std::move(state.added);
  log::info("upgrade", "pool '{}': {} servers are added and {} changed by order, as before",
            kept.settings.name, kept.added.size(), kept.changes.size());
}

// Once, of each server that the process before knew: those of discovery may come later.
void PoolKeeper::resume(Kept& kept, const upstream::Members& members) {
  if (kept.standings.empty()) return;
  const bool checked = kept.settings.health.kind != upstream::HealthSettings::Kind::off;
  const Nanos now = monotonic_now();
  for (const Member& m : members) {
    const auto it = kept.standings.find(m.state->address.to_string());
    if (it == kept.standings.end()) continue;
    m.state->go_on_with(it->second, checked, now);
    kept.standings.erase(it);
  }
}

void PoolKeeper::drop_states() {
  for (const auto& [pool, state] : before_) {
    if (!state.ordered()) continue;
    log::warning("upgrade",
                 "pool '{}' is not in the configuration: what was changed at run time is dropped",
                 pool);
  }
  before_.clear();
}

// ---- canaries ----------------------------------------------------------------------------------

std::vector<CanaryHandover> canary_states(const Snapshot& snapshot) {
  std::vector<CanaryHandover> states;
  for (const auto& canary : snapshot.canaries()) {
    const uint32_t share = canary->share();
    if (share == canary->settings().share && !canary->rolled_back()) continue;
    states.push_back({canary->route(), canary->settings().pool, canary->settings().share, share,
                      canary->rolled_back()});
  }
  return states;
}

void go_on_with(const Snapshot& snapshot, const std::vector<CanaryHandover>& before) {
  for (const CanaryHandover& state : before) {
    const auto canary = snapshot.canary_of(state.route);
    if (canary == nullptr || canary->settings().pool != state.pool ||
        canary->settings().share != state.configured) {
      log::warning("upgrade",
                   "route {}: its canary is another in the configuration now: the share that was "
                   "set at run time is dropped",
                   state.route);
      continue;
    }
    canary->go_on_with(state.share, state.rolled_back);
  }
}

}  // namespace pqedge::edge
