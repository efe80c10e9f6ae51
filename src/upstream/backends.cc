// All backends of one worker.
#include <utility>

#include "upstream/pool.h"

namespace pqedge::upstream {

std::unique_ptr<Pool> Backends::make_pool(const PoolSettings& settings,
                                          std::shared_ptr<const http::Limits> limits,
                                          std::shared_ptr<const crypto::BackendTls> tls,
                                          std::shared_ptr<const Members> members) {
  if (members == nullptr) members = configured_members(registry_, settings);
  std::unique_ptr<Pool> pool(
      new Pool(*this, settings, std::move(members), std::move(limits), std::move(tls)));
  pools_.push_back(*pool);
  return pool;
}

std::shared_ptr<Backend> Backends::backend_for(const Member& member) {
  auto& slot = known_[member.state.get()];
  auto backend = slot.lock();
  // The address of a state that is gone may be that of a new one.
  if (backend == nullptr || backend->state_ref() != member.state) {
    backend = std::make_shared<Backend>(loop_, member.state, pins_);
    slot = backend;
  }
  return backend;
}

void Backends::set_members(std::string_view pool, const std::shared_ptr<const Members>& members) {
  pools_.for_each([&](Pool& p) {
    if (p.settings().name == pool) p.set_members(members);
  });
  forget_unused();
}

void Backends::forget_unused() {
  for (auto it = known_.begin(); it != known_.end();) {
    auto backend = it->second.lock();
    if (!backend) {
      it = known_.erase(it);
      continue;
    }
    // Held by this call and by its own connections only: no pool names it.
    if (static_cast<size_t>(backend.use_count()) <= 1 + backend->connections()) {
      backend->close_idle();
    }
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
