#include "wire/http2/hpack_strings.h"

#include <algorithm>

namespace pqedge::http2 {

size_t HpackStrings::pass(Bytes part) {
  size_t i = 0;
  while (i < part.size()) {
    const uint8_t byte = part[i];
    switch (at_) {
      case At::field: begin_field(byte); break;
      case At::index:  // RFC 7541 5.1: the last byte of an integer has no high bit
        if ((byte & 0x80) == 0) at_ = literal_ ? At::value_length : At::field;
        break;
      case At::name_length:
      case At::value_length:
        in_name_ = at_ == At::name_length;
        begin_string(byte);
        break;
      case At::length:
        if (!go_on_with_length(byte)) return i;
        break;
      case At::string: {
        const size_t n = std::min<uint64_t>(left_, part.size() - i);
        left_ -= n;
        i += n;
        if (left_ == 0) after_string();
        continue;
      }
    }
    ++i;
  }
  return i;
}

void HpackStrings::begin_field(uint8_t byte) {
  uint8_t prefix = 0x0f;     // 6.2.2, 6.2.3: literal, not indexed
  if ((byte & 0x80) != 0) {  // 6.1: indexed
    prefix = 0x7f;
  } else if ((byte & 0x40) != 0) {  // 6.2.1: literal, indexed
    prefix = 0x3f;
  } else if ((byte & 0x20) != 0) {  // 6.3: table size
    prefix = 0x1f;
  }
  literal_ = prefix == 0x0f || prefix == 0x3f;
  const uint8_t index = byte & prefix;
  path_ = literal_ && (index == 4 || index == 5);  // Appendix A
  if (index == prefix) {
    at_ = At::index;
  } else if (literal_) {
    at_ = index == 0 ? At::name_length : At::value_length;
  }
}

// 5.2.
void HpackStrings::begin_string(uint8_t byte) {
  left_ = byte & 0x7f;
  shift_ = 0;
  if (left_ == 0x7f) {
    at_ = At::length;
  } else if (left_ == 0) {
    after_string();
  } else {
    at_ = At::string;
  }
}

bool HpackStrings::go_on_with_length(uint8_t byte) {
  const uint64_t more = shift_ < 32 ? left_ + (uint64_t{byte & 0x7fu} << shift_) : UINT64_MAX;
  if (more > kMaxString) return false;
  left_ = more;
  shift_ += 7;
  if ((byte & 0x80) == 0) at_ = At::string;
  return true;
}

}  // namespace pqedge::http2
