// Variable-length integers of QUIC and HTTP/3 (RFC 9000 section 16).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace pqedge::quic {

inline constexpr uint64_t kMaxVarint = (uint64_t{1} << 62) - 1;

// Bytes that the encoding starting with `first` takes: 1, 2, 4 or 8.
constexpr size_t varint_size_of(uint8_t first) { return size_t{1} << (first >> 6); }

// Bytes that `value` (at most kMaxVarint) takes when encoded.
constexpr size_t varint_size(uint64_t value) {
  return value < 64 ? 1 : value < 16384 ? 2 : value < (uint64_t{1} << 30) ? 4 : 8;
}

// Decodes `size` == varint_size_of(p[0]) bytes.
inline uint64_t load_varint(const uint8_t* p, size_t size) {
  uint64_t v = p[0] & 0x3f;
  for (size_t i = 1; i < size; ++i) v = v << 8 | p[i];
  return v;
}

// Takes a whole varint from the front of `in`; false, with `in` as it was, when it is cut short.
inline bool take_varint(Bytes& in, uint64_t& value) {
  if (in.empty()) return false;
  const size_t size = varint_size_of(in[0]);
  if (in.size() < size) return false;
  value = load_varint(in.data(), size);
  in = in.subspan(size);
  return true;
}

// Writes the shortest encoding; `p` has room for 8 bytes. Returns the end of what was written.
inline uint8_t* store_varint(uint8_t* p, uint64_t value) {
  const size_t size = varint_size(value);
  for (size_t i = size; i-- > 0; value >>= 8) p[i] = static_cast<uint8_t>(value);
  constexpr uint8_t kPrefix[] = {0x00, 0x40, 0, 0x80, 0, 0, 0, 0xc0};
  p[0] |= kPrefix[size - 1];
  return p + size;
}

}  // namespace pqedge::quic
