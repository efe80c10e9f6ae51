// What one stream has to send: bytes not yet in a packet, and bytes in packets that nobody has
// acknowledged. ngtcp2 keeps pointers to stream data until it is acknowledged, so all of it stays.
#pragma once

#include <ngtcp2/ngtcp2.h>

#include <cstddef>
#include <vector>

#include "base/chunk.h"

namespace pqedge::quic {

class SendQueue {
 public:
  size_t unsent() const { return unsent_; }
  size_t unacknowledged() const { return total_ - unsent_; }
  bool empty() const { return total_ == 0; }

  void push(Slice s) {
    if (s.empty()) return;
    total_ += s.size;
    unsent_ += s.size;
    if (head_ != slices_.size() && joins(slices_.back(), s)) {
      Slice& back = slices_.back();
      if (cursor_ == slices_.size()) {
        --cursor_;
        cursor_offset_ = back.size;
      }
      back.size += s.size;
      return;
    }
    slices_.push_back(std::move(s));
  }

  // Points `vectors` at the unsent bytes in order; returns how many vectors that took.
  size_t gather(ngtcp2_vec* vectors, size_t max) const {
    size_t n = 0;
    size_t skip = cursor_offset_;
    for (size_t i = cursor_; i < slices_.size() && n < max; ++i, skip = 0) {
      const Slice& s = slices_[i];
      if (s.size == skip) continue;
      vectors[n++] = {const_cast<uint8_t*>(s.data) + skip, s.size - skip};
    }
    return n;
  }

  // n <= unsent() bytes went into a packet.
  void sent(size_t n) {
    unsent_ -= n;
    while (n > 0) {
      const size_t left = slices_[cursor_].size - cursor_offset_;
      if (n < left) {
        cursor_offset_ += n;
        return;
      }
      n -= left;
      ++cursor_;
      cursor_offset_ = 0;
    }
  }

  // The first n <= unacknowledged() bytes that are here arrived at the peer.
  void acknowledged(size_t n) {
    total_ -= n;
    while (n > 0) {
      Slice& s = slices_[head_];
      if (n < s.size) {
        if (head_ == cursor_) cursor_offset_ -= n;
        s.remove_prefix(n);
        return;
      }
      n -= s.size;
      s = Slice{};
      ++head_;
    }
    compact();
  }

  // Forgets what is in no packet yet. The rest stays: ngtcp2 may look at it until it is
  // acknowledged or the stream is closed, also when the stream was reset.
  void drop_unsent() {
    if (unsent_ == 0) return;
    if (cursor_offset_ > 0) slices_[cursor_++].size = cursor_offset_;
    slices_.resize(cursor_);
    cursor_offset_ = 0;
    total_ -= unsent_;
    unsent_ = 0;
    compact();
  }

  void clear() {
    slices_.clear();
    head_ = cursor_ = cursor_offset_ = total_ = unsent_ = 0;
  }

 private:
  static bool joins(const Slice& a, const Slice& b) {
    return a.chunk.get() == b.chunk.get() && a.chunk && a.data + a.size == b.data;
  }
  void compact() {
    if (head_ == slices_.size()) {
      slices_.clear();
      head_ = cursor_ = cursor_offset_ = 0;
    } else if (head_ >= 32 && head_ * 2 >= slices_.size()) {
      slices_.erase(slices_.begin(), slices_.begin() + static_cast<ptrdiff_t>(head_));
      cursor_ -= head_;
      head_ = 0;
    }
  }

  std::vector<Slice> slices_;
  size_t head_ = 0;    // slices before it were acknowledged
  size_t cursor_ = 0;  // the first slice with unsent bytes; slices_.size() when there is none
  size_t cursor_offset_ = 0;  // bytes of that slice which were sent
  size_t total_ = 0;
  size_t unsent_ = 0;
};

}  // namespace pqedge::quic
