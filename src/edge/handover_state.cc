// Of a hand-over (handover.h): what the process knows beyond its configuration. One message a
// server, since a pool may have thousands.
#include <algorithm>
#include <span>
#include <utility>

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

Result<void> send_changed(int channel, const PoolHandover::Change& change) {
  Writer w(kChangedServer);
  w.text(change.address);
  w.number((change.weight ? kWeighed : 0) | (change.draining ? kDraining : 0) |
               (change.removed ? kRemoved : 0),
           1);
  w.number(change.weight.value_or(0), 4);
  return w.send(channel);
}

Result<void> send_standing(int channel, const PoolHandover::Standing& standing) {
  Writer w(kStanding);
  w.text(standing.address);
  w.number(static_cast<uint8_t>(standing.known.mode), 1);
  w.number(standing.known.time, 8);
  w.number(standing.known.ejections, 4);
  w.text(std::string_view(standing.known.reason).substr(0, kMostText));
  return w.send(channel);
}

// A message has at most this many.
constexpr size_t kTiesAtOnce = 1000;

Result<void> send_ties(int channel, const PoolHandover& pool) {
  const std::span<const upstream::Ties::Tie> ties = pool.ties;
  for (size_t at = 0; at < ties.size(); at += kTiesAtOnce) {
    const auto some = ties.subspan(at, std::min(kTiesAtOnce, ties.size() - at));
    Writer w(kTies);
    w.number(static_cast<uint8_t>(pool.affinity.kind), 1);
    w.text(std::string_view(pool.affinity.name).substr(0, kMostText));
    w.number(some.size(), 2);
    for (const auto& tie : some) {
      w.number(tie.key, 8);
      w.number(tie.member, 8);
      w.number(tie.seen, 8);
    }
    if (auto ok = w.send(channel); !ok) return ok;
  }
  return {};
}

Result<void> send_pool(int channel, const PoolHandover& pool) {
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
  return send_ties(channel, pool);
}

}  // namespace

Result<void> send_state(int channel, const RunTimeState& state) {
  for (const PoolHandover& pool : state.pools) {
    if (auto ok = send_pool(channel, pool); !ok) return ok;
  }
  for (const CanaryHandover& canary : state.canaries) {
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
  PoolHandover& pool = state.pools.emplace_back();
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
  PoolHandover::Change change;
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
  PoolHandover::Standing standing;
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

Result<void> take_ties(Reader& r, RunTimeState& state) {
  const uint64_t kind = r.number(1);
  upstream::KeySource affinity{.kind = upstream::KeySource::Kind::none, .name = r.text()};
  if (state.pools.empty()) return damaged();
  // A kind of a later version: these clients are tied anew.
  if (kind > static_cast<uint64_t>(upstream::KeySource::Kind::cookie)) return {};
  affinity.kind = static_cast<upstream::KeySource::Kind>(kind);
  PoolHandover& pool = state.pools.back();
  pool.affinity = std::move(affinity);
  for (uint64_t n = r.number(2); n > 0 && r.ok(); --n) {
    upstream::Ties::Tie& tie = pool.ties.emplace_back();
    tie.key = r.number(8);
    tie.member = r.number(8);
    tie.seen = r.number(8);
  }
  return {};
}

void take_canary(Reader& r, RunTimeState& state) {
  CanaryHandover& canary = state.canaries.emplace_back();
  canary.route = r.text();
  canary.pool = r.text();
  canary.configured = static_cast<uint32_t>(r.number(4));
  canary.share = static_cast<uint32_t>(r.number(4));
  canary.rolled_back = r.number(1) != 0;
}

}  // namespace pqedge::edge::handover
