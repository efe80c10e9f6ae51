#include "upstream/picker.h"

#include <algorithm>

#include "upstream/affinity.h"

namespace pqedge::upstream {

Picker::Picker(const PoolSettings& settings, std::shared_ptr<const Members> members)
    : max_connections_(settings.max_connections),
      by_client_(settings.balance == Balance::hash &&
                 settings.hash_by.kind == KeySource::Kind::client_ip),
      members_(std::move(members)),
      balancer_(settings, monotonic_now()) {
  balancer_.set_members(*members_);
}

bool Picker::may_take(const ServerState& server, std::span<ServerState* const> tried) const {
  if (std::ranges::contains(tried, &server)) return false;
  return max_connections_ == 0 ||
         server.connections.load(std::memory_order_relaxed) < max_connections_;
}

std::shared_ptr<ServerState> Picker::pick(Nanos now, std::span<ServerState* const> tried,
                                          const net::Address& client) {
  Choice choice;
  for (const ServerState* server : tried) choice.avoid(server);
  if (by_client_) {
    choice.key = address_hash(client);
    choice.keyed = true;
  }
  const std::lock_guard lock(mutex_);
  Balancer::Found found = balancer_.begin(choice, now);
  while (found == Balancer::Found::some) {
    for (size_t at; (at = balancer_.next()) != Balancer::kNone;) {
      const std::shared_ptr<ServerState>& server = (*members_)[at].state;
      if (may_take(*server, tried)) return server;
    }
    found = balancer_.begin_next(choice);
  }
  return nullptr;
}

}  // namespace pqedge::upstream
