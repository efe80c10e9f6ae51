#include "upstream/pool.h"

#include <algorithm>

namespace pqedge::upstream {

Pool::Pool(const PoolSettings& settings, std::vector<std::shared_ptr<Backend>> backends, Pins& pins)
    : settings_(&settings), backends_(std::move(backends)), pins_(pins) {}

size_t Pool::pick_first() {
  const size_t n = backends_.size();
  const size_t start = next_;
  next_ = next_ + 1 == n ? 0 : next_ + 1;
  if (settings_->balance == Balance::round_robin || n == 1) return start;
  size_t best = start;
  uint32_t least = UINT32_MAX;
  for (size_t i = 0; i < n; ++i) {  // from `start`, so that ties go round
    const size_t at = (start + i) % n;
    const uint32_t active = backends_[at]->state().active.load(std::memory_order_relaxed);
    if (active < least) {
      least = active;
      best = at;
    }
  }
  return best;
}

void Pool::acquire(net::Loop& loop, Lease& lease, Requester& requester, bool fresh,
                   const ServerState* avoid) {
  // What knows this client's user comes before any choice of a server.
  if (!fresh && !pins_.empty() && pins_.acquire(lease, settings_->name)) return;
  const size_t n = backends_.size();
  const size_t first = pick_first();
  // First round: servers in good standing. Second: any.
  for (int round = 0; round < 2; ++round) {
    for (size_t i = 0; i < n; ++i) {
      Backend& backend = *backends_[(first + i) % n];
      const ServerState& server = backend.state();
      const bool doubtful =
          &server == avoid ||
          server.passed_over_until.load(std::memory_order_relaxed) > loop.now();
      if (doubtful != (round == 1)) continue;
      if (backend.acquire(lease, fresh)) return;
    }
  }
  requester.on_backend_failed(Failure::no_capacity, "every server is at its maximum of connections");
}

std::unique_ptr<Pool> Backends::make_pool(const PoolSettings& settings,
                                          std::shared_ptr<const http::Limits> limits,
                                          std::shared_ptr<const crypto::BackendTls> tls) {
  std::vector<std::shared_ptr<Backend>> backends;
  const uint32_t max_idle = std::max<uint32_t>(1, (settings.max_idle + workers_ - 1) / workers_);
  for (const ServerSettings& server : settings.servers) {
    auto state = registry_.get(settings.name, server);
    auto& slot = known_[state.get()];
    auto backend = slot.lock();
    if (!backend) {
      backend = std::make_shared<Backend>(loop_, state, pins_);
      slot = backend;
    }
    backend->configure(settings, max_idle, limits, tls);
    backends.push_back(std::move(backend));
  }
  return std::make_unique<Pool>(settings, std::move(backends), pins_);
}

void Backends::forget_unused() {
  for (auto it = known_.begin(); it != known_.end();) {
    auto backend = it->second.lock();
    if (!backend) {
      it = known_.erase(it);
      continue;
    }
    // Held by this call and by its own connections only: no pool names it.
    if (static_cast<size_t>(backend.use_count()) <= 1 + backend->idle()) backend->close_idle();
    ++it;
  }
}

void Backends::close_idle() {
  for (auto& [state, weak] : known_) {
    if (auto backend = weak.lock()) backend->close_idle();
  }
}

void Backends::close_all() {
  for (auto& [state, weak] : known_) {
    if (auto backend = weak.lock()) backend->close_all();
  }
}

}  // namespace pqedge::upstream
