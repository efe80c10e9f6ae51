// The nonce of a TLS 1.3 record (RFC 8446 5.3), and random bytes for keys and IVs.
#pragma once

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "base/bytes.h"

namespace pqedge::measure {

inline constexpr size_t kNonceLength = 12;
inline constexpr size_t kTagLength = 16;

class RecordNonce {
 public:
  explicit RecordNonce(Bytes iv) { std::copy_n(iv.begin(), kNonceLength, iv_.begin()); }

  // Of the next seal.
  const std::array<uint8_t, kNonceLength>& next() {
    current_ = iv_;
    for (size_t i = 0; i < 8; ++i) {
      current_[kNonceLength - 1 - i] ^= static_cast<uint8_t>(sequence_ >> (8 * i));
    }
    ++sequence_;
    return current_;
  }
  // Of the last one.
  const std::array<uint8_t, kNonceLength>& current() const { return current_; }

 private:
  std::array<uint8_t, kNonceLength> iv_{};
  std::array<uint8_t, kNonceLength> current_{};
  uint64_t sequence_ = 0;
};

// Up to 256 bytes, which the kernel gives at once and whole.
inline std::vector<uint8_t> random_bytes(size_t length) {
  std::vector<uint8_t> bytes(length);
  if (getrandom(bytes.data(), length, 0) != static_cast<ssize_t>(length)) std::abort();
  return bytes;
}

}  // namespace pqedge::measure
