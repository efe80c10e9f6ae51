// What was read from the peer and is not understood yet. Reads go straight into a chunk, and body
// bytes are handed on as slices of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/chunk.h"

namespace pqedge::http1 {

// Holds no memory while nothing is pending and release() was called.
class Input {
 public:
  // Where the next read goes; never empty.
  MutableBytes space();
  void filled(size_t n);

  Bytes pending() const { return {data() + begin_, end_ - begin_}; }
  bool empty() const { return begin_ == end_; }
  // Whether a read would go beside what is pending, in the same chunk.
  bool has_room() const { return !chunk_ || end_ < Chunk::kCapacity; }

  void consume(size_t n) {
    begin_ += static_cast<uint32_t>(n);
    consumed_ += n;
  }
  // The next n <= pending().size() bytes, without a copy.
  Slice take(size_t n) {
    Slice s{chunk_, data() + begin_, n};
    consume(n);
    return s;
  }

  // A head (or trailer section) from its first byte on, in one piece, also when it is longer than a
  // chunk. Between its first byte and consume_head() nothing else may be consumed.
  std::string_view head() const {
    return long_head_.empty() ? as_text(pending()) : std::string_view(long_head_);
  }
  void consume_head(size_t n);

  void clear();
  // Gives the chunk back if nothing is pending.
  void release() {
    if (empty() && long_head_.empty()) clear();
  }

  // All bytes consumed so far.
  uint64_t consumed() const { return consumed_; }

 private:
  uint8_t* data() const { return chunk_ ? chunk_->data() : nullptr; }
  void move_to_front();

  ChunkRef chunk_;
  uint32_t begin_ = 0;
  uint32_t end_ = 0;
  uint64_t consumed_ = 0;
  std::string long_head_;  // a head that has outgrown a chunk; its newest bytes are pending too
};

}  // namespace pqedge::http1
