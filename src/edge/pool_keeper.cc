#include "edge/pool_keeper.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "base/log.h"

namespace pqedge::edge {

using upstream::DiscoverySettings;
using upstream::HealthSettings;
using upstream::Member;
using upstream::Members;
using upstream::PoolSettings;
using upstream::ServerSettings;

struct PoolKeeper::Inbox {
  std::mutex mutex;
  std::condition_variable came;
  std::vector<jobs::DiscoveryReport> reports;
  PoolKeeper* owner = nullptr;  // of the main thread
};

namespace {

bool same_servers(const std::vector<ServerSettings>& a, const std::vector<ServerSettings>& b) {
  return std::ranges::equal(a, b, [](const ServerSettings& x, const ServerSettings& y) {
    return x.address == y.address && x.weight == y.weight && x.priority == y.priority &&
           x.id == y.id;
  });
}

bool same_definition(const PoolSettings& a, const PoolSettings& b) {
  return a.discovery == b.discovery && same_servers(a.servers, b.servers);
}

bool same_members(const Members& a, const Members& b) {
  return std::ranges::equal(a, b, [](const Member& x, const Member& y) {
    return x.state == y.state && x.id == y.id && x.settings.weight == y.settings.weight &&
           x.settings.priority == y.settings.priority;
  });
}

}  // namespace

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

// ---- a configuration comes -----------------------------------------------------------------------

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
  update_jobs();
  if (!awaited.empty()) await_reports(std::move(awaited), patience);
}

void PoolKeeper::begin_pool(Kept& kept, const PoolSettings& settings,
                            std::shared_ptr<const crypto::BackendTls> tls) {
  if (kept.members != nullptr && !same_definition(kept.settings, settings)) {
    if (!kept.added.empty() || !kept.changes.empty()) {
      log::warning("backend", "pool '{}': its servers are others in the configuration now: what was "
                   "changed at run time is dropped", settings.name);
    }
    kept.added.clear();
    kept.changes.clear();
    if (!(kept.settings.discovery == settings.discovery)) {
      kept.found.clear();
      kept.report = {};
    }
  }
  kept.settings = settings;
  kept.tls = std::move(tls);
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
      Member& m = members->emplace_back(
          Member{registry_.get(kept.settings.name, server), server,
                 upstream::member_id(kept.settings.name, server)});
      m.settings.weight = change.weight.value_or(server.weight);
      m.state->configure(kept.settings.rules, kept.circle,
                         kept.settings.balance == upstream::Balance::least_time);
      m.state->set_draining(change.draining);
    }
  }
  kept.circle->members.store(static_cast<uint32_t>(members->size()), std::memory_order_relaxed);
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

// ---- checks and discovery ------------------------------------------------------------------------

std::unique_ptr<jobs::BackendJobs> PoolKeeper::start_jobs() {
  auto made = jobs::BackendJobs::start([inbox = inbox_, &loop = loop_](jobs::DiscoveryReport r) {
    {
      const std::lock_guard lock(inbox->mutex);
      inbox->reports.push_back(std::move(r));
    }
    inbox->came.notify_one();
    loop.post([inbox] {
      if (inbox->owner != nullptr) inbox->owner->take_reports(nullptr);
    });
  });
  if (made) return std::move(*made);
  log::error("backend", "no server is checked or discovered: {}", made.error().message);
  return nullptr;
}

void PoolKeeper::update_jobs() {
  const bool wanted = std::ranges::any_of(pools_, [](const auto& p) {
    return p.second.settings.health.kind != HealthSettings::Kind::off ||
           p.second.settings.discovery.kind != DiscoverySettings::Kind::off;
  });
  if (jobs_ == nullptr && wanted) jobs_ = start_jobs();
  if (jobs_ == nullptr) return;
  std::map<std::string, DiscoverySettings> discoveries;
  for (const auto& [name, kept] : pools_) {
    if (kept.settings.discovery.kind == DiscoverySettings::Kind::off) continue;
    discoveries[name] = kept.settings.discovery;
  }
  jobs_->discover(std::move(discoveries));
  send_checks();
}

void PoolKeeper::send_checks() {
  if (jobs_ == nullptr) return;
  std::vector<jobs::HealthPool> checks;
  for (const auto& [name, kept] : pools_) {
    if (kept.settings.health.kind == HealthSettings::Kind::off) continue;
    jobs::HealthPool& pool = checks.emplace_back();
    pool.name = name;
    pool.settings = kept.settings.health;
    pool.protocol = kept.settings.protocol;
    pool.send_proxy = kept.settings.send_proxy;
    pool.limits = limits_;
    pool.tls = kept.tls;
    for (const Member& m : *kept.members) pool.servers.push_back(m.state);
  }
  jobs_->check(std::move(checks));
}

void PoolKeeper::take_reports(std::set<std::string>* awaited) {
  std::vector<jobs::DiscoveryReport> reports;
  {
    const std::lock_guard lock(inbox_->mutex);
    reports.swap(inbox_->reports);
  }
  for (jobs::DiscoveryReport& r : reports) {
    if (awaited != nullptr) awaited->erase(r.pool);
    on_report(std::move(r), awaited == nullptr);
  }
}

void PoolKeeper::await_reports(std::set<std::string> awaited, Nanos patience) {
  if (jobs_ == nullptr) return;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::nanoseconds(patience);
  while (!awaited.empty()) {
    {
      std::unique_lock lock(inbox_->mutex);
      const bool some = inbox_->came.wait_until(lock, deadline,
                                                [this] { return !inbox_->reports.empty(); });
      if (!some) break;
    }
    take_reports(&awaited);
  }
  for (const std::string& pool : awaited) {
    log::warning("discovery", "pool '{}': no answer of DNS yet: it begins with {} servers", pool,
                 pools_.at(pool).members->size());
  }
}

void PoolKeeper::on_report(jobs::DiscoveryReport report, bool tell) {
  const auto it = pools_.find(report.pool);
  // Of settings that are no more.
  if (it == pools_.end() || !(it->second.settings.discovery == report.settings)) return;
  Kept& kept = it->second;
  if (report.found) {
    if (!same_servers(kept.found, report.servers)) {
      log::info("discovery", "pool '{}': {} servers are found", report.pool,
                report.servers.size());
    }
    kept.found = std::move(report.servers);
    report.servers.clear();
  }
  kept.report = std::move(report);
  if (!kept.report.found) return;
  if (tell) return compose_and_publish(kept);
  if (compose(kept)) {
    table_.set(kept.settings.name, kept.members);
    // A pool that workers know already under this name: of the configuration that is replaced.
    publish_(kept.settings.name, kept.members);
    send_checks();
  }
}

// ---- orders --------------------------------------------------------------------------------------

namespace {

constexpr int kNotFound = 404;
constexpr int kConflict = 409;
constexpr int kUnprocessable = 422;

std::unexpected<Error> refuse(int status, std::string text) {
  return std::unexpected(Error{std::move(text), status});
}

// The address of a server that an order names: as it stands in the configuration, or as it is known.
std::string address_of(const std::vector<const std::vector<ServerSettings>*>& sources,
                       std::string_view server) {
  for (const auto* source : sources) {
    for (const ServerSettings& s : *source) {
      if (s.name == server || s.address.to_string() == server) return s.address.to_string();
    }
  }
  return {};
}

}  // namespace

Result<std::string> PoolKeeper::order(const PoolOrder& order) {
  const auto it = pools_.find(order.pool);
  if (it == pools_.end()) {
    return refuse(kNotFound, std::format("there is no pool {}", in_quotes(order.pool)));
  }
  Kept& kept = it->second;
  auto done = order.kind == PoolOrder::Kind::add       ? add(kept, order)
              : order.kind == PoolOrder::Kind::replace ? replace(kept, order)
                                                       : change(kept, order);
  if (done) {
    log::info("backend", "pool '{}': by order: {}", order.pool, *done);
    compose_and_publish(kept);
  }
  return done;
}

Result<std::string> PoolKeeper::add(Kept& kept, const PoolOrder& order) {
  if (order.servers.size() != 1) return refuse(kUnprocessable, "one server is to be named");
  const ServerSettings& server = order.servers.front();
  const std::string key = server.address.to_string();
  const bool known = !address_of({&kept.settings.servers, &kept.found, &kept.added}, key).empty();
  const auto change = kept.changes.find(key);
  if (known && (change == kept.changes.end() || !change->second.removed)) {
    return refuse(kConflict, std::format("{} is in the pool already", server.name));
  }
  if (!known && kept.members->size() >= upstream::kMaxServers) {
    return refuse(kConflict, std::format("the pool has {} servers, and takes no more",
                                         kept.members->size()));
  }
  if (known) {
    change->second = {.weight = server.weight};
  } else {
    kept.added.push_back(server);
  }
  return std::format("server {} is added", server.name);
}

Result<std::string> PoolKeeper::replace(Kept& kept, const PoolOrder& order) {
  kept.added = order.servers;
  for (const ServerSettings& server : order.servers) {
    const auto it = kept.changes.find(server.address.to_string());
    if (it != kept.changes.end()) it->second.removed = false;
  }
  return std::format("{} servers by order, beside those of the configuration and of discovery",
                     order.servers.size());
}

Result<std::string> PoolKeeper::change(Kept& kept, const PoolOrder& order) {
  const std::string key =
      address_of({&kept.settings.servers, &kept.found, &kept.added}, order.server);
  const auto known = kept.changes.find(key);
  if (key.empty() || (known != kept.changes.end() && known->second.removed)) {
    return refuse(kNotFound, std::format("pool {} has no server {}", in_quotes(order.pool),
                                         in_quotes(order.server)));
  }
  const auto member = std::ranges::find_if(
      *kept.members, [&](const Member& m) { return m.state->address.to_string() == key; });
  if (member == kept.members->end()) return refuse(kConflict, "the pool has too many servers");
  const std::string name = member->state->name;
  switch (order.kind) {
    case PoolOrder::Kind::remove:
      std::erase_if(kept.added, [&](const auto& s) { return s.address.to_string() == key; });
      if (address_of({&kept.settings.servers, &kept.found}, key).empty()) {
        kept.changes.erase(key);
      } else {
        kept.changes[key] = {.removed = true};
      }
      return std::format("server {} is removed", name);
    case PoolOrder::Kind::weight:
      kept.changes[key].weight = order.weight;
      return std::format("server {} has the weight {}", name, order.weight);
    case PoolOrder::Kind::drain:
      kept.changes[key].draining = true;
      return std::format("server {} drains", name);
    case PoolOrder::Kind::ready:
      kept.changes[key].draining = false;
      return std::format("server {} does not drain", name);
    case PoolOrder::Kind::reset:
      member->state->reset(monotonic_now());
      return std::format("server {} is taken to be well", name);
    case PoolOrder::Kind::add:
    case PoolOrder::Kind::replace: break;
  }
  return refuse(kUnprocessable, "this is no order");
}

}  // namespace pqedge::edge
