// Small pieces of a body, copied together: what unread bytes pin is then at most
// Chunk::kCapacity / kReferenceMin times their number, and one chunk.
#pragma once

#include <algorithm>
#include <cstring>

#include "base/chunk.h"

namespace pqedge::http2 {

class StagedBody {
 public:
  // A piece of at least this size is worth the chunk that it lies in.
  static constexpr size_t kReferenceMin = 4096;

  bool empty() const { return from_ == to_; }
  // Takes as much as there is room for, and says how much. 0: take() what is there first.
  size_t add(Bytes bytes) {
    if (chunk_ && to_ == Chunk::kCapacity) {
      if (from_ != to_) return 0;
      chunk_ = {};
    }
    if (!chunk_) {
      chunk_ = ChunkRef::make();
      from_ = to_ = 0;
    }
    const size_t n = std::min(bytes.size(), Chunk::kCapacity - to_);
    std::memcpy(chunk_->data() + to_, bytes.data(), n);
    to_ += n;
    return n;
  }
  // What was added since the last call.
  Slice take() {
    Slice slice{chunk_, chunk_ ? chunk_->data() + from_ : nullptr, to_ - from_};
    from_ = to_;
    return slice;
  }
  // After what take() gave was passed on: a chunk that nobody uses is not kept.
  void trim() {
    if (chunk_ && empty() && !chunk_->shared()) clear();
  }
  void clear() {
    chunk_ = {};
    from_ = to_ = 0;
  }

 private:
  ChunkRef chunk_;
  size_t from_ = 0;  // bytes before it were taken
  size_t to_ = 0;    // bytes before it are filled
};

}  // namespace pqedge::http2
