#include "upstream/pool_state.h"

#include <map>

namespace pqedge::upstream {

std::shared_ptr<PoolState> PoolState::of(const std::string& pool) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<PoolState>> states;
  const std::lock_guard lock(mutex);
  auto& slot = states[pool];
  if (auto existing = slot.lock()) return existing;
  auto made = std::make_shared<PoolState>(pool);
  slot = made;
  std::erase_if(states, [](const auto& entry) { return entry.second.expired(); });
  return made;
}

std::shared_ptr<Ties> PoolState::ties(uint32_t entries) {
  const std::lock_guard lock(mutex_);
  if (ties_ != nullptr && ties_->entries() == entries) return ties_;
  auto made = std::make_shared<Ties>(entries);
  if (ties_ != nullptr) made->take_from(*ties_);
  ties_ = made;
  return made;
}

std::shared_ptr<Ties> PoolState::present_ties() {
  const std::lock_guard lock(mutex_);
  return ties_;
}

}  // namespace pqedge::upstream
