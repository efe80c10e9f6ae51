// Of a hand-over (handover.h): what the process knows beyond its configuration. One message a
// server, since a pool may have thousands.
#include "edge/handover_message.h"
#include "upstream/settings.h"

namespace pqedge::edge::handover {
namespace {

constexpr uint8_t kWeighed = 1;  // bits of a change
constexpr uint8_t kDraining = 2;
constexpr uint8_t kRemoved = 4;
// A text of one message has at most so many bytes: what is longer is for people alone, and cut.
constexpr size_t kMostText = 1000;

std::unexpected<Error> damaged() { return fail("what it knows of a pool is damaged"); }

Result<void> send_added(int channel, const upstream::ServerSettings& server) {
  Writer w(kAddedServer);
  w.text(server.address.to_string());
  w.text(server.name);
  w.number(server.weight, 4);
  w.number(server.priority, 4);
  w.text(server.id);
  return w.send(channel);
}

Result<void> send_changed(int channel, const PoolState::Change& change) {
  Writer w(kChangedServer);
  w.text(change.address);
  w.number((change.weight ? kWeighed : 0) | (change.draining ? kDraining : 0) |
               (change.removed ? kRemoved : 0),
           1);
  w.number(change.weight.value_or(0), 4);
  return w.send(channel);
}

Result<void> send_standing(int channel, const PoolState::Standing& standing) {
  Writer w(kStanding);
  w.text(standing.address);
  w.number(static_cast<uint8_t>(standing.known.mode), 1);
  w.number(standing.known.time, 8);
  w.number(standing.known.ejections, 4);
  w.text(std::string_view(standing.known.reason).substr(0, kMostText));
  return w.send(channel);
}

Result<void> send_pool(int channel, const PoolState& pool) {
  Writer w(kPool);
  w.text(pool.pool);
  w.number(pool.definition, 8);
  if (auto ok = w.send(channel); !ok) return ok;
  for (const auto& server : pool.added) {
    if (auto ok = send_added(channel, server); !ok) return ok;
  }
  for (const auto& change : pool.changes) {
    if (auto ok = send_changed(channel, change); !ok) return ok;
  }
  for (const auto& standing : pool.standings) {
    if (auto ok = send_standing(channel, standing); !ok) return ok;
  }
  return {};
}

}  // namespace

Result<void> send_state(int channel, const RunTimeState& state) {
  for (const PoolState& pool : state.pools) {
    if (auto ok = send_pool(channel, pool); !ok) return ok;
  }
  for (const CanaryState& canary : state.canaries) {
    Writer w(kCanary);
    w.text(canary.route);
    w.text(canary.pool);
    w.number(canary.configured, 4);
    w.number(canary.share, 4);
    w.number(canary.rolled_back ? 1 : 0, 1);
    if (auto ok = w.send(channel); !ok) return ok;
  }
  return {};
}

void take_pool(Reader& r, RunTimeState& state) {
  PoolState& pool = state.pools.emplace_back();
  pool.pool = r.text();
  pool.definition = r.number(8);
}

Result<void> take_added(Reader& r, RunTimeState& state) {
  upstream::ServerSettings server;
  const auto address = net::Address::parse(r.text());
  server.name = r.text();
  server.weight = static_cast<uint32_t>(r.number(4));
  server.priority = static_cast<uint32_t>(r.number(4));
  server.id = r.text();
  if (!address || state.pools.empty()) return damaged();
  server.address = *address;
  state.pools.back().added.push_back(std::move(server));
  return {};
}

Result<void> take_changed(Reader& r, RunTimeState& state) {
  PoolState::Change change;
  change.address = r.text();
  const uint64_t bits = r.number(1);
  const auto weight = static_cast<uint32_t>(r.number(4));
  if ((bits & kWeighed) != 0) change.weight = weight;
  change.draining = (bits & kDraining) != 0;
  change.removed = (bits & kRemoved) != 0;
  if (state.pools.empty()) return damaged();
  state.pools.back().changes.push_back(std::move(change));
  return {};
}

Result<void> take_standing(Reader& r, RunTimeState& state) {
  PoolState::Standing standing;
  standing.address = r.text();
  const uint64_t mode = r.number(1);
  standing.known.time = r.number(8);
  standing.known.ejections = static_cast<uint32_t>(r.number(4));
  standing.known.reason = r.text();
  if (state.pools.empty()) return damaged();
  // A mode of a later version: the server is learned anew.
  if (mode > static_cast<uint64_t>(upstream::Mode::down)) return {};
  standing.known.mode = static_cast<upstream::Mode>(mode);
  state.pools.back().standings.push_back(std::move(standing));
  return {};
}

void take_canary(Reader& r, RunTimeState& state) {
  CanaryState& canary = state.canaries.emplace_back();
  canary.route = r.text();
  canary.pool = r.text();
  canary.configured = static_cast<uint32_t>(r.number(4));
  canary.share = static_cast<uint32_t>(r.number(4));
  canary.rolled_back = r.number(1) != 0;
}

}  // namespace pqedge::edge::handover
