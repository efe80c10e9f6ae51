// Builds messages in network order.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/bytes.h"

namespace pqedge::measure {

class Writer {
 public:
  void number(uint64_t value, size_t width) {
    for (size_t i = width; i > 0; --i) {
      bytes_.push_back(static_cast<uint8_t>(value >> (8 * (i - 1))));
    }
  }
  void u8(uint64_t value) { number(value, 1); }
  void u16(uint64_t value) { number(value, 2); }
  void u32(uint64_t value) { number(value, 4); }
  void put(Bytes bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  void zeros(size_t count) { bytes_.insert(bytes_.end(), count, 0); }

  // A length of `width` bytes and then what `body` writes. `more` is added to the length: IKEv2
  // counts the header before the field too.
  template <typename Body>
  void counted(size_t width, Body&& body, size_t more = 0) {
    const size_t at = bytes_.size();
    zeros(width);
    std::forward<Body>(body)();
    const size_t length = bytes_.size() - at - width + more;
    for (size_t i = 0; i < width; ++i) {
      bytes_[at + i] = static_cast<uint8_t>(length >> (8 * (width - 1 - i)));
    }
  }

  size_t size() const { return bytes_.size(); }
  Bytes view() const { return bytes_; }
  std::vector<uint8_t> take() && { return std::move(bytes_); }

 private:
  std::vector<uint8_t> bytes_;
};

}  // namespace pqedge::measure
