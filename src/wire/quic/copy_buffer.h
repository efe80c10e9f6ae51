// Copies small pieces of bytes compactly into chunks that many connections of a worker share.
#pragma once

#include <cstring>
#include <utility>

#include "base/bytes.h"
#include "base/chunk.h"

namespace pqedge::quic {

// A received STREAM frame or an encoded head is far smaller than a chunk: one chunk each would cost
// 32 KiB for some bytes. Pieces are put one after another; a chunk is freed when the last of its
// pieces is. Pieces copied in a row are neighbours, so that a queue may join them.
class CopyBuffer {
 public:
  // Calls take(Slice) for the copy, in one piece where the current chunk has room.
  template <typename Take>
  void copy(Bytes bytes, Take&& take) {
    // Nobody else looks at the chunk any more: fill the same memory again, which is warm.
    if (chunk_ && !chunk_->shared()) used_ = 0;
    while (!bytes.empty()) {
      if (used_ == Chunk::kCapacity || !chunk_) {
        chunk_ = ChunkRef::make();
        used_ = 0;
      }
      const size_t room = Chunk::kCapacity - used_;
      const size_t n = bytes.size() < room ? bytes.size() : room;
      uint8_t* p = chunk_->data() + used_;
      std::memcpy(p, bytes.data(), n);
      used_ += n;
      take(Slice{chunk_, p, n});
      bytes = bytes.subspan(n);
    }
  }

 private:
  ChunkRef chunk_;
  size_t used_ = 0;
};

}  // namespace pqedge::quic
