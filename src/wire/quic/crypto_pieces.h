// The start of a CRYPTO stream, put together from frames in any order (RFC 9000 19.6).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/bytes.h"

namespace pqedge::quic {

class CryptoPieces {
 public:
  explicit CryptoPieces(size_t most) : most_(most) {}

  enum class Added : uint8_t {
    ok,
    conflict,   // other bytes than before at the same place
    beyond,     // past the most that is kept
    scattered,  // too many holes
  };
  Added add(uint64_t offset, Bytes bytes);
  // What is there without a hole, from the start.
  Bytes front() const;
  size_t held() const { return bytes_.size(); }

 private:
  // Frames of one hello are a few dozen at most, also of clients that scatter them on purpose.
  static constexpr size_t kMaxRanges = 64;
  struct Range {
    size_t begin;
    size_t end;
  };

  size_t most_;
  std::vector<uint8_t> bytes_;
  std::vector<Range> ranges_;  // what is known, in order, apart from each other
};

}  // namespace pqedge::quic
