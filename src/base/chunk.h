// Reference-counted blocks of body bytes. A chunk outlives the exchange whose bytes it holds: it is
// freed when the last slice of it was written (TCP) or acknowledged (QUIC).
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/bytes.h"

namespace pqedge {

// Chunks belong to one thread: the count is not atomic and free chunks are kept in a bounded list
// of the thread. Never hand one to another worker.
class Chunk {
 public:
  // A full TLS record (16 KiB) and its neighbours fit. The only size, so that any free chunk
  // serves.
  static constexpr size_t kCapacity = 32 * 1024;

  static Chunk* make();
  uint8_t* data() { return data_; }
  void retain() { ++refs_; }
  void release() {
    if (--refs_ == 0) recycle(this);
  }
  bool shared() const { return refs_ > 1; }

  // Chunks of this thread that are in use, for the memory metrics.
  static size_t live();

 private:
  struct FreeList;
  Chunk() = default;
  static FreeList& free_list();
  static void recycle(Chunk* chunk);

  uint32_t refs_ = 1;
  Chunk* next_free_ = nullptr;
  alignas(16) uint8_t data_[kCapacity];
};

class ChunkRef {
 public:
  ChunkRef() = default;
  static ChunkRef make() { return ChunkRef(Chunk::make()); }
  ChunkRef(const ChunkRef& o) : chunk_(o.chunk_) {
    if (chunk_ != nullptr) chunk_->retain();
  }
  ChunkRef(ChunkRef&& o) noexcept : chunk_(std::exchange(o.chunk_, nullptr)) {}
  ChunkRef& operator=(ChunkRef o) noexcept {
    std::swap(chunk_, o.chunk_);
    return *this;
  }
  ~ChunkRef() {
    if (chunk_ != nullptr) chunk_->release();
  }
  explicit operator bool() const { return chunk_ != nullptr; }
  Chunk* get() const { return chunk_; }
  Chunk* operator->() const { return chunk_; }

 private:
  explicit ChunkRef(Chunk* adopted) : chunk_(adopted) {}
  Chunk* chunk_ = nullptr;
};

// Some bytes of a chunk, keeping it alive; or, with an empty `chunk`, bytes with static lifetime.
struct Slice {
  ChunkRef chunk;
  const uint8_t* data = nullptr;
  size_t size = 0;

  Bytes bytes() const { return {data, size}; }
  bool empty() const { return size == 0; }
  void remove_prefix(size_t n) {
    data += n;
    size -= n;
  }
};

// Copies `bytes` into chunks of their own and calls `take(Slice)` for each.
template <typename Take>
void copy_to_slices(Bytes bytes, Take&& take) {
  while (!bytes.empty()) {
    ChunkRef chunk = ChunkRef::make();
    const size_t n = bytes.size() < Chunk::kCapacity ? bytes.size() : Chunk::kCapacity;
    std::memcpy(chunk->data(), bytes.data(), n);
    const uint8_t* p = chunk->data();
    take(Slice{std::move(chunk), p, n});
    bytes = bytes.subspan(n);
  }
}

// A FIFO of slices with its length in bytes. Its bound is kept by who fills it (flow control).
class SliceQueue {
 public:
  void push(Slice s) {
    if (s.empty()) return;
    size_ += s.size;
    slices_.push_back(std::move(s));
  }
  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  size_t count() const { return slices_.size() - head_; }
  const Slice& front() const { return slices_[head_]; }
  const Slice& back() const { return slices_.back(); }
  const Slice& at(size_t i) const { return slices_[head_ + i]; }

  // Lengthens the last slice by the n bytes that follow it in its chunk. The queue is not empty.
  void extend_back(size_t n) {
    slices_.back().size += n;
    size_ += n;
  }

  // Takes the first slice out whole. The queue is not empty.
  Slice pop() {
    Slice s = std::move(slices_[head_++]);
    size_ -= s.size;
    compact();
    return s;
  }

  // Drops n <= size() bytes from the front.
  void consume(size_t n) {
    size_ -= n;
    while (n > 0) {
      Slice& s = slices_[head_];
      if (n < s.size) {
        s.remove_prefix(n);
        return;
      }
      n -= s.size;
      s = Slice{};
      ++head_;
    }
    compact();
  }

  void clear() {
    slices_.clear();
    head_ = 0;
    size_ = 0;
  }

 private:
  void compact() {
    if (head_ == slices_.size()) {
      slices_.clear();
      head_ = 0;
    } else if (head_ >= 32 && head_ * 2 >= slices_.size()) {
      slices_.erase(slices_.begin(), slices_.begin() + static_cast<ptrdiff_t>(head_));
      head_ = 0;
    }
  }

  std::vector<Slice> slices_;
  size_t head_ = 0;  // slices before it were consumed
  size_t size_ = 0;
};

}  // namespace pqedge
