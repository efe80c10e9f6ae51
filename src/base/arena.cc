#include "base/arena.h"

#include <algorithm>
#include <cstdlib>

#include "base/memory.h"

namespace pqedge {

void* Arena::allocate_slow(size_t size) {
  const size_t block_size = std::max<size_t>(size, 8192 - sizeof(Block));
  auto* block = static_cast<Block*>(memory::allocate(sizeof(Block) + block_size));
  if (block == nullptr) throw std::bad_alloc();  // no size at all
  block->next = blocks_;
  block->size = block_size;
  blocks_ = block;
  heap_bytes_ += block_size;
  auto* data = reinterpret_cast<uint8_t*>(block + 1);
  at_ = data + size;
  end_ = data + block_size;
  return data;
}

void Arena::reset() {
  while (blocks_ != nullptr) {
    Block* next = blocks_->next;
    std::free(blocks_);
    blocks_ = next;
  }
  heap_bytes_ = 0;
  at_ = first_;
  end_ = first_ + kFirstBlock;
}

}  // namespace pqedge
