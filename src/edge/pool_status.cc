// The pools as JSON, for who looks at them.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "edge/pool_keeper.h"

namespace pqedge::edge {
namespace {

using Json = nlohmann::ordered_json;
using upstream::DiscoverySettings;
using upstream::HealthSettings;
using upstream::Member;
using upstream::ServerSettings;

double seconds(Nanos time) { return static_cast<double>(time / kMillisecond) / 1000; }

bool names(const std::vector<ServerSettings>& servers, const net::Address& address) {
  return std::ranges::any_of(servers, [&](const auto& s) { return s.address == address; });
}

std::string_view text(upstream::Balance balance) {
  switch (balance) {
    case upstream::Balance::round_robin: return "round_robin";
    case upstream::Balance::least_connections: return "least_connections";
    case upstream::Balance::random_two: return "random_two";
    case upstream::Balance::hash: return "hash";
    case upstream::Balance::least_time: return "least_time";
  }
  return "";
}

Json server_json(const Member& m, std::string_view source, Nanos now) {
  const upstream::ServerState& s = *m.state;
  const auto f = s.facts(now);
  Json j;
  j["server"] = s.name;
  j["address"] = s.address.to_string();
  j["source"] = source;
  j["state"] = upstream::text(f.mode);
  j["state_seconds"] = seconds(f.in_mode_for);
  if (f.left != 0) j["seconds_left"] = seconds(f.left);
  if (!f.reason.empty()) {
    j["reason"] = f.reason;
    j["changed"] = f.changed;
  }
  j["transitions"] = f.transitions;
  j["draining"] = f.draining;
  j["weight"] = m.settings.weight;
  j["priority"] = m.settings.priority;
  j["requests_in_flight"] = s.active.load(std::memory_order_relaxed);
  j["connections"] = s.connections.load(std::memory_order_relaxed);
  j["failures_in_a_row"] = f.failures;
  j["ejections"] = f.ejections;
  if (const uint32_t micros = s.latency.average(now); micros != 0) j["latency_us"] = micros;
  if (!f.check.empty()) {
    j["check"] = {{"well", f.check_well},
                  {"found", f.check},
                  {"at", f.checked},
                  {"seconds", seconds(f.check_took)}};
  }
  j["total"] = {{"requests", s.count.requests.value()},
                {"connects", s.count.connects.value()},
                {"connect_failures", s.count.connect_failures.value()},
                {"resets", s.count.resets.value()},
                {"retries", s.count.retries.value()}};
  return j;
}

Json discovery_json(const DiscoverySettings& settings, const jobs::DiscoveryReport& report,
                    size_t found) {
  const bool file = settings.kind == DiscoverySettings::Kind::file;
  Json j;
  j[file                                            ? "file"
    : settings.kind == DiscoverySettings::Kind::srv ? "srv"
                                                    : "dns"] = file ? settings.file : settings.name;
  j["servers"] = found;
  j["asked"] = report.asked;
  if (report.next != 0) j["next_seconds"] = report.next;
  if (!report.error.empty()) j["error"] = report.error;
  return j;
}

}  // namespace

std::string PoolKeeper::json(std::string_view pool) const {
  const Nanos now = monotonic_now();
  Json all = Json::array();
  for (const auto& [name, kept] : pools_) {
    if (!pool.empty() && name != pool) continue;
    Json j;
    j["pool"] = name;
    j["balance"] = text(kept.settings.balance);
    if (kept.settings.discovery.kind != DiscoverySettings::Kind::off) {
      j["discovery"] = discovery_json(kept.settings.discovery, kept.report, kept.found.size());
    }
    Json& servers = j["servers"] = Json::array();
    for (const Member& m : *kept.members) {
      const std::string_view source = names(kept.settings.servers, m.state->address)
                                          ? "configuration"
                                      : names(kept.found, m.state->address) ? "discovery"
                                                                            : "order";
      servers.push_back(server_json(m, source, now));
    }
    Json removed = Json::array();
    for (const auto& [address, change] : kept.changes) {
      if (change.removed) removed.push_back(address);
    }
    if (!removed.empty()) j["removed"] = std::move(removed);
    all.push_back(std::move(j));
  }
  const auto dump = [](const Json& j) {
    return j.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  };
  if (pool.empty()) return dump(all);
  return all.empty() ? std::string() : dump(all.front());
}

}  // namespace pqedge::edge
