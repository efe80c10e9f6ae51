// Hashes that are the same in every process and version: which server a key belongs to hangs on
// them.
#pragma once

#include <cstdint>
#include <string_view>

namespace pqedge::upstream {

// The finalizer of MurmurHash3 (public domain): every bit of the input moves every bit of the
// output.
constexpr uint64_t mix(uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccd;
  x ^= x >> 33;
  x *= 0xc4ceb9fe1a85ec53;
  x ^= x >> 33;
  return x;
}

// What mix() made x of.
constexpr uint64_t unmix(uint64_t x) {
  x ^= x >> 33;
  x *= 0x9cb4b2f8129337db;  // the inverses modulo 2^64 of the factors above
  x ^= x >> 33;
  x *= 0x4f74430c22a54005;
  x ^= x >> 33;
  return x;
}
static_assert(unmix(mix(0x0123456789abcdef)) == 0x0123456789abcdef && unmix(mix(1)) == 1);

// FNV-1a with 64 bits, mixed. Not keyed: whoever can choose the text can choose the hash.
constexpr uint64_t stable_hash(std::string_view text, uint64_t seed = 0) {
  uint64_t h = 0xcbf29ce484222325 ^ mix(seed);
  for (const char c : text) {
    h ^= static_cast<uint8_t>(c);
    h *= 0x100000001b3;
  }
  return mix(h);
}

}  // namespace pqedge::upstream
