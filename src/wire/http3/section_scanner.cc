#include "wire/http3/section_scanner.h"

#include <algorithm>

namespace pqedge::http3 {

bool SectionScanner::scan(Bytes in) {
  while (!in.empty() && !invalid_) {
    if (skip_ > 0) {
      const auto n = static_cast<size_t>(std::min<uint64_t>(skip_, in.size()));
      in = in.subspan(n);
      skip_ -= n;
      continue;
    }
    const uint8_t byte = in[0];
    in = in.subspan(1);
    if (!within_) {
      if (!begin(byte) && !finish()) return false;
      continue;
    }
    value_ += static_cast<uint64_t>(byte & 0x7f) << shift_;
    shift_ += 7;
    within_ = (byte & 0x80) != 0;
    if (within_) {
      invalid_ = shift_ > 56;
    } else if (!finish()) {
      return false;
    }
  }
  return true;
}

// The first byte of an integer, and what it is of (RFC 9204 4.5.1 to 4.5.6). True: it goes on.
bool SectionScanner::begin(uint8_t byte) {
  unsigned bits = 7;
  switch (next_) {
    case Next::required_inserts:
      kind_ = Kind::required_inserts;
      bits = 8;
      break;
    case Next::base: kind_ = Kind::base; break;
    case Next::value: kind_ = Kind::value_size; break;
    case Next::line:
      if ((byte & 0x80) != 0) {
        kind_ = Kind::index;
        bits = 6;
      } else if ((byte & 0x40) != 0) {
        kind_ = Kind::name_index;
        bits = 4;
      } else if ((byte & 0x20) != 0) {
        kind_ = Kind::name_size;
        bits = 3;
      } else {
        kind_ = (byte & 0x10) != 0 ? Kind::index : Kind::name_index;
        bits = (byte & 0x10) != 0 ? 4 : 3;
      }
      break;
  }
  const uint64_t most = (uint64_t{1} << bits) - 1;
  value_ = byte & most;
  shift_ = 0;
  within_ = value_ == most;
  return within_;
}

bool SectionScanner::finish() {
  switch (kind_) {
    case Kind::required_inserts: next_ = Next::base; return true;
    case Kind::base:
    case Kind::index: next_ = Next::line; return true;
    case Kind::name_index: next_ = Next::value; return true;
    case Kind::name_size:
      next_ = Next::value;
      skip_ = value_;
      return value_ <= kMaxName;
    case Kind::value_size:
      next_ = Next::line;
      skip_ = value_;
      return value_ <= kMaxValue;
  }
  return true;
}

}  // namespace pqedge::http3
