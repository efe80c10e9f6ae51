// A ring of variable-length records between one writing and one reading thread, without locks.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace pqedge::record {

class ByteRing {
 public:
  // Rounded up to a power of two. The memory is touched only as it is used.
  explicit ByteRing(size_t capacity);

  // ---- the writing thread ----
  // Room for a record of `size` bytes in one piece, or null when the ring is full. It is seen by
  // the reader after commit().
  uint8_t* reserve(size_t size);
  void commit();
  size_t used_by_writer() const { return reserved_ - tail_.load(std::memory_order_relaxed); }

  // ---- the reading thread ----
  // The oldest record, or an empty span. pop() gives its room back.
  std::span<const uint8_t> front();
  void pop();
  bool empty() const {
    return tail_.load(std::memory_order_relaxed) == head_.load(std::memory_order_seq_cst);
  }

  size_t capacity() const { return mask_ + 1; }

 private:
  // A record is a length (4 bytes) and its bytes, rounded up to 8. A length of kSkip says that the
  // next record is at the start of the ring.
  static constexpr uint32_t kSkip = UINT32_MAX;
  static size_t footprint(size_t size) { return (size + sizeof(uint32_t) + 7) & ~size_t{7}; }
  uint32_t length_at(size_t position) const;
  void set_length_at(size_t position, uint32_t length);

  size_t mask_;
  std::unique_ptr<uint8_t[]> bytes_;
  // Positions only grow; the ring's index is position & mask_.
  alignas(64) std::atomic<size_t> head_{0};  // written by the writing thread
  size_t reserved_ = 0;                      // where head_ will be after commit()
  size_t tail_seen_ = 0;
  alignas(64) std::atomic<size_t> tail_{0};  // written by the reading thread
  size_t head_seen_ = 0;
  size_t next_ = 0;  // where the record after front() begins
};

}  // namespace pqedge::record
