// Checks and discovery of the pools' servers: what a thread beside the workers does and reports.
#include <algorithm>
#include <chrono>
#include <utility>

#include "base/log.h"
#include "edge/pool_keeper.h"

namespace pqedge::edge {

using upstream::DiscoverySettings;
using upstream::HealthSettings;
using upstream::Member;

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
      const bool some =
          inbox_->came.wait_until(lock, deadline, [this] { return !inbox_->reports.empty(); });
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
      log::info("discovery", "pool '{}': {} servers are found", report.pool, report.servers.size());
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

}  // namespace pqedge::edge
