// What a server has to do with the servers of its pools while it runs.
#include "edge/server.h"

namespace pqedge::edge {

void Server::begin_pools() {
  pools_ = std::make_unique<PoolKeeper>(
      loop_, shared_.servers, shared_.members,
      [this](const std::string& pool, std::shared_ptr<const upstream::Members> members) {
        if (!running_) return;
        for (auto& w : shared_.workers) {
          w->loop().post([&worker = *w, pool, members] { worker.set_members(pool, members); });
        }
      });
}

Result<std::string> Server::order(const PoolOrder& order) {
  if (draining_) {
    return std::unexpected(Error{"the process is shutting down", 409});
  }
  return pools_->order(order);
}

}  // namespace pqedge::edge
