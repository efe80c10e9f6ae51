#include "record/byte_ring.h"

#include <bit>
#include <cstring>

namespace pqedge::record {

ByteRing::ByteRing(size_t capacity)
    : mask_(std::bit_ceil(capacity) - 1),
      bytes_(std::make_unique_for_overwrite<uint8_t[]>(mask_ + 1)) {}

uint32_t ByteRing::length_at(size_t position) const {
  uint32_t length;
  std::memcpy(&length, &bytes_[position & mask_], sizeof length);
  return length;
}

void ByteRing::set_length_at(size_t position, uint32_t length) {
  std::memcpy(&bytes_[position & mask_], &length, sizeof length);
}

uint8_t* ByteRing::reserve(size_t size) {
  const size_t need = footprint(size);
  size_t at = head_.load(std::memory_order_relaxed);
  // Records are contiguous: what is left at the end of the ring may have to be skipped.
  const size_t to_end = capacity() - (at & mask_);
  const size_t skipped = need > to_end ? to_end : 0;
  if (at + skipped + need - tail_seen_ > capacity()) {
    tail_seen_ = tail_.load(std::memory_order_acquire);
    if (at + skipped + need - tail_seen_ > capacity()) return nullptr;
  }
  if (skipped > 0) set_length_at(at, kSkip);  // footprints are multiples of 8: there is room
  at += skipped;
  set_length_at(at, static_cast<uint32_t>(size));
  reserved_ = at + need;
  return &bytes_[(at & mask_) + sizeof(uint32_t)];
}

void ByteRing::commit() {
  // Ordered with the reader's announcement that it goes to sleep (LogThread::announce).
  head_.store(reserved_, std::memory_order_seq_cst);
}

std::span<const uint8_t> ByteRing::front() {
  size_t at = tail_.load(std::memory_order_relaxed);
  if (at == head_seen_) {
    head_seen_ = head_.load(std::memory_order_seq_cst);
    if (at == head_seen_) return {};
  }
  if (length_at(at) == kSkip) at += capacity() - (at & mask_);
  const uint32_t length = length_at(at);
  next_ = at + footprint(length);
  return {&bytes_[(at & mask_) + sizeof(uint32_t)], length};
}

void ByteRing::pop() { tail_.store(next_, std::memory_order_release); }

}  // namespace pqedge::record
