// What an operator asks for at run time: servers added, removed, drained, weighed.
#include <algorithm>
#include <format>
#include <utility>

#include "base/log.h"
#include "base/problem.h"
#include "edge/pool_keeper.h"

namespace pqedge::edge {

using upstream::Member;
using upstream::ServerSettings;

namespace {

constexpr int kNotFound = 404;
constexpr int kConflict = 409;
constexpr int kUnprocessable = 422;

std::unexpected<Error> refuse(int status, std::string text) {
  return std::unexpected(Error{std::move(text), status});
}

// The address of a server that an order names: as it stands in the configuration, or as it is
// known.
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
    return refuse(kConflict,
                  std::format("the pool has {} servers, and takes no more", kept.members->size()));
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
