// Looks for strings in a field section that are longer than nghttp3 takes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace pqedge::http3 {

// nghttp3's decoder decodes nothing more on a connection once it has met a string beyond its
// bounds. Too large a field is a matter of one request (RFC 9114 4.2.2): the section is not given
// to it.
class SectionScanner {
 public:
  static constexpr size_t kMaxName = 256;  // bytes as they are sent
  static constexpr size_t kMaxValue = 64 * 1024;

  // The section's bytes in order, in any pieces. False: there is such a string.
  bool scan(Bytes in);

 private:
  // What the integer at hand counts (RFC 9204 4.5).
  enum class Kind : uint8_t { required_inserts, base, index, name_index, name_size, value_size };
  enum class Next : uint8_t { required_inserts, base, line, value };

  bool begin(uint8_t byte);
  bool finish();

  Next next_ = Next::required_inserts;
  Kind kind_ = Kind::required_inserts;
  bool within_ = false;   // an integer has more bytes
  bool invalid_ = false;  // the decoder will say so
  uint8_t shift_ = 0;
  uint64_t value_ = 0;
  uint64_t skip_ = 0;  // bytes of a string
};

}  // namespace pqedge::http3
