// One worker's view of a pool: which server takes the next request.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "upstream/backend.h"

namespace pqedge::upstream {

class Pool {
 public:
  Pool(const PoolSettings& settings, std::vector<std::shared_ptr<Backend>> backends);

  const PoolSettings& settings() const { return *settings_; }

  // Picks a server by the pool's algorithm and gets a connection to it. A server in `avoid` (one
  // that just failed this request) and those passed over after a failed connect come last.
  // The requester hears through its calls, perhaps before this returns.
  void acquire(net::Loop& loop, Lease& lease, Requester& requester, bool fresh,
               const ServerState* avoid);

 private:
  size_t pick_first();
  const PoolSettings* settings_;  // lives in the snapshot that owns this pool's worker view
  std::vector<std::shared_ptr<Backend>> backends_;
  size_t next_ = 0;
};

// All backends of one worker, kept over reloads so that their connections are.
class Backends {
 public:
  Backends(net::Loop& loop, Registry& registry, uint32_t workers)
      : loop_(loop), registry_(registry), workers_(workers) {}

  std::unique_ptr<Pool> make_pool(const PoolSettings& settings,
                                  std::shared_ptr<const http::Limits> limits,
                                  std::shared_ptr<const crypto::BackendTls> tls);
  // Closes the kept connections of servers that no pool names any more.
  void forget_unused();
  void close_idle();
  void close_all();

 private:
  net::Loop& loop_;
  Registry& registry_;
  uint32_t workers_;
  std::unordered_map<ServerState*, std::weak_ptr<Backend>> known_;
};

}  // namespace pqedge::upstream
