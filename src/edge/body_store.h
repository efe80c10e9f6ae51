// Body bytes that are held: until a server is asked, until the client may have them, or to be sent
// again. Who fills it keeps its bound.
#pragma once

#include "base/chunk.h"

namespace pqedge::edge {

class BodyStore {
 public:
  // Keeps the chunk that the bytes are in: for what is held by a codec's window anyhow.
  void push(Slice bytes) { queue_.push(std::move(bytes)); }
  // Small pieces are copied together, so that the memory held is about that of the bytes: at most
  // twice, and a chunk. One byte a frame would otherwise hold a chunk each.
  void pack(Slice bytes);

  bool empty() const { return queue_.empty(); }
  size_t size() const { return queue_.size(); }
  Slice pop() { return queue_.pop(); }
  void clear();

  // visit(Slice) of each piece, which stays here too.
  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (size_t i = 0; i < queue_.count(); ++i) visit(Slice(queue_.at(i)));
  }

 private:
  SliceQueue queue_;
  ChunkRef tail_;  // where small pieces go, one after the other
  size_t used_ = 0;
};

}  // namespace pqedge::edge
