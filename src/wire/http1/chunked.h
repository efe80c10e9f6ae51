// The chunked transfer coding, decoded (RFC 9112 7.1). It reads bytes from memory and knows nothing
// of connections; data is never copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/bytes.h"

namespace pqedge::http1 {

class ChunkedDecoder {
 public:
  // Bytes of one chunk extension, and of all in one body: beyond them it is an attack on who reads
  // (RFC 9112 7.1.1).
  static constexpr uint32_t kMaxExtension = 256;
  static constexpr uint32_t kMaxExtensions = 16 * 1024;

  enum class Event : uint8_t {
    need_more,
    data,      // `size` bytes of the body follow the first `skip`
    trailers,  // the last chunk is read: a trailer section follows the first `skip`
    error      // `reason`
  };
  struct Outcome {
    Event event;
    size_t skip = 0;  // bytes of framing read: never to be shown again
    size_t size = 0;
    std::string_view reason;
  };

  // `input`: what follows the bytes told so far in `skip` and `size`. At most max_data bytes (> 0)
  // are told as data at once.
  Outcome next(Bytes input, size_t max_data);

 private:
  enum class State : uint8_t {
    size_first,
    size,
    space,      // BWS before ";"
    extension,  // BWS before a name
    name,
    name_space,   // BWS before "=" or ";"
    value_space,  // BWS after "="
    value,
    quoted,
    quoted_pair,
    value_end,  // after a value: BWS, ";" or CR
    size_lf,
    data,
    data_cr,
    data_lf,
    done
  };

  // Each takes one byte and returns the reason for a refusal, or nothing.
  std::string_view take(char c);
  std::string_view take_size(char c);
  std::string_view take_extension(char c);
  std::string_view end_of_line(char c);

  uint64_t left_ = 0;        // of the chunk
  uint32_t extension_ = 0;   // bytes of this chunk's extensions
  uint32_t extensions_ = 0;  // of all
  uint8_t digits_ = 0;
  State state_ = State::size_first;
};

}  // namespace pqedge::http1
