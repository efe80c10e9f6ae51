// One buffer a thread, of a TLS record's size, for bytes that are gone before the call ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace pqedge::crypto {

inline constexpr size_t kMaxPlaintext = 1 << 14;  // RFC 8446 5.1

inline uint8_t* scratch_record() {
  thread_local const std::unique_ptr<uint8_t[]> scratch(new uint8_t[kMaxPlaintext]);
  return scratch.get();
}

}  // namespace pqedge::crypto
