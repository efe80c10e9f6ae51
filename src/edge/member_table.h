// The servers of each pool as they are now, for the workers that begin with a configuration.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "upstream/member.h"

namespace pqedge::edge {

// Written by the pool keeper on the main thread, read by workers when they make their pools. Thread
// safe.
class MemberTable {
 public:
  // Null: no such pool; those of its settings then.
  std::shared_ptr<const upstream::Members> find(const std::string& pool) const {
    const std::lock_guard lock(mutex_);
    const auto it = members_.find(pool);
    return it == members_.end() ? nullptr : it->second;
  }
  void set(const std::string& pool, std::shared_ptr<const upstream::Members> members) {
    const std::lock_guard lock(mutex_);
    members_[pool] = std::move(members);
  }
  void erase(const std::string& pool) {
    const std::lock_guard lock(mutex_);
    members_.erase(pool);
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const upstream::Members>> members_;
};

}  // namespace pqedge::edge
