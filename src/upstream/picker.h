// Choosing a server for a connection that is passed on: no exchange, no connections of a worker.
#pragma once

#include <memory>
#include <mutex>
#include <span>

#include "net/address.h"
#include "upstream/balance.h"
#include "upstream/member.h"
#include "upstream/settings.h"

namespace pqedge::upstream {

// Of one pool, for all workers: once a connection, with a short lock. Thread safe. Affinity and
// keys other than the client's address need a request, and do not count here; nor does the queue.
class Picker {
 public:
  Picker(const PoolSettings& settings, std::shared_ptr<const Members> members);

  // By the pool's algorithm; one in doubt only when no other is left. Null: all others are in
  // `tried`, at their maximum, or take nothing.
  std::shared_ptr<ServerState> pick(Nanos now, std::span<ServerState* const> tried,
                                    const net::Address& client);
  const Members& members() const { return *members_; }

 private:
  bool may_take(const ServerState& server, std::span<ServerState* const> tried) const;

  const uint32_t max_connections_;
  const bool by_client_;
  const std::shared_ptr<const Members> members_;
  std::mutex mutex_;
  Balancer balancer_;
};

}  // namespace pqedge::upstream
