#include "edge/body_store.h"

#include <algorithm>
#include <cstring>

namespace pqedge::edge {

void BodyStore::pack(Slice bytes) {
  if (bytes.size >= Chunk::kCapacity / 2) {
    queue_.push(std::move(bytes));
    return;
  }
  while (!bytes.empty()) {
    if (!tail_ || used_ == Chunk::kCapacity) {
      tail_ = ChunkRef::make();
      used_ = 0;
    }
    const size_t n = std::min(bytes.size, Chunk::kCapacity - used_);
    uint8_t* const at = tail_->data() + used_;
    std::memcpy(at, bytes.data, n);
    used_ += n;
    bytes.remove_prefix(n);
    const bool follows = !queue_.empty() && queue_.back().chunk.get() == tail_.get() &&
                         queue_.back().data + queue_.back().size == at;
    if (follows) {
      queue_.extend_back(n);
    } else {
      queue_.push(Slice{tail_, at, n});
    }
  }
}

void BodyStore::clear() {
  queue_.clear();
  tail_ = {};
  used_ = 0;
}

}  // namespace pqedge::edge
