#include "edge/pool_keeper.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace pqedge::edge {

using upstream::DiscoverySettings;
using upstream::Member;
using upstream::Members;
using upstream::PoolSettings;
using upstream::ServerSettings;

namespace {

bool same_members(const Members& a, const Members& b) {
  return std::ranges::equal(a, b, [](const Member& x, const Member& y) {
    return x.state == y.state && x.id == y.id && x.settings.weight == y.settings.weight &&
           x.settings.priority == y.settings.priority;
  });
}

}  // namespace

bool PoolKeeper::same_servers(const std::vector<ServerSettings>& a,
                              const std::vector<ServerSettings>& b) {
  return std::ranges::equal(a, b, [](const ServerSettings& x, const ServerSettings& y) {
    return x.address == y.address && x.weight == y.weight && x.priority == y.priority &&
           x.id == y.id;
  });
}

bool PoolKeeper::same_definition(const PoolSettings& a, const PoolSettings& b) {
  return a.discovery == b.discovery && same_servers(a.servers, b.servers);
}

PoolKeeper::PoolKeeper(net::Loop& main_loop, upstream::Registry& registry, MemberTable& table,
                       Publish publish)
    : loop_(main_loop),
      registry_(registry),
      table_(table),
      publish_(std::move(publish)),
      inbox_(std::make_shared<Inbox>()) {
  inbox_->owner = this;
}

PoolKeeper::~PoolKeeper() {
  inbox_->owner = nullptr;
  jobs_.reset();
}

Result<void> PoolKeeper::check(const Settings& settings) {
  for (const PoolSettings& pool : settings.pools) {
    if (pool.discovery.kind != DiscoverySettings::Kind::file) continue;
    if (auto list = jobs::read_server_file(pool.discovery.file); !list) {
      return fail("pool '{}': discovery.file: {}", pool.name, list.error().message);
    }
  }
  return {};
}

// ---- a configuration comes ------------------------------------------------------------------

void PoolKeeper::adopt(const std::shared_ptr<const Snapshot>& snapshot, Nanos patience) {
  std::map<std::string, Kept, std::less<>> before = std::exchange(pools_, {});
  limits_ = snapshot->limits;
  std::set<std::string> awaited;
  const std::vector<PoolSettings>& pools = snapshot->settings.pools;
  for (size_t i = 0; i < pools.size(); ++i) {
    Kept& kept = pools_[pools[i].name];
    if (const auto it = before.find(pools[i].name); it != before.end()) {
      kept = std::move(it->second);
      before.erase(it);
    }
    begin_pool(kept, pools[i], snapshot->backend_tls[i]);
    const auto kind = pools[i].discovery.kind;
    const bool by_name =
        kind == DiscoverySettings::Kind::addresses || kind == DiscoverySettings::Kind::srv;
    if (by_name && kept.report.asked == 0) awaited.insert(pools[i].name);
    table_.set(pools[i].name, kept.members);
  }
  for (const auto& [name, kept] : before) table_.erase(name);
  drop_states();
  update_jobs();
  if (!awaited.empty()) await_reports(std::move(awaited), patience);
}

void PoolKeeper::begin_pool(Kept& kept, const PoolSettings& settings,
                            std::shared_ptr<const crypto::BackendTls> tls) {
  if (kept.members != nullptr && !same_definition(kept.settings, settings)) {
    if (!kept.added.empty() || !kept.changes.empty()) {
      log::warning("backend",
                   "pool '{}': its servers are others in the configuration now: what was "
                   "changed at run time is dropped",
                   settings.name);
    }
    kept.added.clear();
    kept.changes.clear();
    if (!(kept.settings.discovery == settings.discovery)) {
      kept.found.clear();
      kept.report = {};
    }
  }
  const bool is_new = kept.members == nullptr;
  kept.settings = settings;
  kept.tls = std::move(tls);
  if (is_new) {
    kept.shared = upstream::PoolState::of(settings.name);
    take_state(kept);
  }
  if (kept.circle == nullptr) kept.circle = std::make_shared<upstream::Circle>();
  if (settings.discovery.kind == DiscoverySettings::Kind::file) {
    // It was read a moment ago, when the configuration was checked; an error then is told later.
    if (auto list = jobs::read_server_file(settings.discovery.file)) kept.found = std::move(*list);
  }
  compose(kept);
}

bool PoolKeeper::compose(Kept& kept) {
  auto members = std::make_shared<Members>();
  std::set<std::string> seen;
  for (const auto* source : {&kept.settings.servers, &kept.found, &kept.added}) {
    for (const ServerSettings& server : *source) {
      const std::string key = server.address.to_string();
      if (members->size() >= upstream::kMaxServers || !seen.insert(key).second) continue;
      const auto it = kept.changes.find(key);
      const Change change = it == kept.changes.end() ? Change{} : it->second;
      if (change.removed) continue;
      Member& m = members->emplace_back(Member{registry_.get(kept.settings.name, server), server,
                                               upstream::member_id(kept.settings.name, server)});
      m.settings.weight = change.weight.value_or(server.weight);
      m.state->configure(kept.settings.rules, kept.circle,
                         kept.settings.balance == upstream::Balance::least_time);
      m.state->set_draining(change.draining);
    }
  }
  kept.circle->members.store(static_cast<uint32_t>(members->size()), std::memory_order_relaxed);
  resume(kept, *members);
  if (kept.members != nullptr && same_members(*kept.members, *members)) return false;
  kept.members = std::move(members);
  return true;
}

void PoolKeeper::compose_and_publish(Kept& kept) {
  if (!compose(kept)) return;
  // First the table: a worker that begins with a configuration now is not behind.
  table_.set(kept.settings.name, kept.members);
  publish_(kept.settings.name, kept.members);
  send_checks();
}

}  // namespace pqedge::edge
