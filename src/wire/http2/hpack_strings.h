// Finds a string in an HPACK field block that is longer than nghttp2 decodes, without decoding.
//
// nghttp2 takes such a string (a URL of 70 KB from a browser) for a compression error and ends the
// connection; the client shall see 414 or 431. No string of one frame can be so long, so only
// blocks that are continued are looked at.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace pqedge::http2 {

class HpackStrings {
 public:
  static constexpr uint32_t kMaxString = 64 * 1024;  // encoded bytes: nghttp2's NGHTTP2_HD_MAX_NV

  void begin() { *this = HpackStrings{}; }
  // Goes over a part of the block. Returns how many bytes may be decoded: fewer than given when the
  // next one would make a string too long.
  size_t pass(Bytes part);
  // That string is the value of ":path".
  bool at_path() const { return path_; }

 private:
  // RFC 7541 6.
  enum class At : uint8_t { field, index, name_length, value_length, length, string };
  void begin_field(uint8_t byte);
  void begin_string(uint8_t byte);
  bool go_on_with_length(uint8_t byte);
  void after_string() { at_ = in_name_ ? At::value_length : At::field; }

  At at_ = At::field;
  bool literal_ = false;  // the field has a value of its own
  bool in_name_ = false;  // the string is a name
  bool path_ = false;
  uint8_t shift_ = 0;
  uint64_t left_ = 0;  // of the string; or its length while that is read
};

}  // namespace pqedge::http2
