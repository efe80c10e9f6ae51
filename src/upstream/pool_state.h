// What all workers share about one pool, beside its servers. Survives reloads: the same name gives
// the same state, as long as a worker has a pool of that name.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "upstream/affinity.h"
#include "upstream/queue.h"
#include "upstream/settings.h"

namespace pqedge::upstream {

class PoolState {
 public:
  // Of the process. Thread safe.
  static std::shared_ptr<PoolState> of(const std::string& pool);

  explicit PoolState(const std::string& pool) : queue(pool) {}

  Queue queue;

  // The table of ties, made with the first call. With another number of entries it is made anew,
  // and what was known goes over.
  std::shared_ptr<Ties> ties(uint32_t entries);
  std::shared_ptr<Ties> present_ties();  // null: there was no such call yet

 private:
  std::mutex mutex_;
  std::shared_ptr<Ties> ties_;
};

}  // namespace pqedge::upstream
