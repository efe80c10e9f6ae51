// Looking at 16 bytes at once: each function returns a mask with bit i set where byte i answers.
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace pqedge::http1 {

inline constexpr size_t kBlock = 16;

#if defined(__SSE2__)

inline __m128i load_block(const char* p) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
}

// Control bytes that may not stand in a field line: 0x00..0x1f but HTAB, and DEL (RFC 9110 5.5).
// CR and LF are among them, so that every line end is seen.
inline uint32_t control_mask(const char* p) {
  const __m128i v = load_block(p);
  const __m128i low = _mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(0x1f)), v);
  const __m128i tab = _mm_cmpeq_epi8(v, _mm_set1_epi8('\t'));
  const __m128i del = _mm_cmpeq_epi8(v, _mm_set1_epi8(0x7f));
  return static_cast<uint32_t>(_mm_movemask_epi8(_mm_or_si128(_mm_andnot_si128(tab, low), del)));
}

inline uint32_t equal_mask(const char* p, char c) {
  return static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(load_block(p), _mm_set1_epi8(c))));
}

// What may not stand in a request target: anything outside 0x21..0x7e (RFC 3986 2), and '#', which
// begins a fragment and is never sent (RFC 9110 4.2.5).
inline uint32_t not_target_mask(const char* p) {
  const __m128i v = load_block(p);
  const __m128i graphic = _mm_cmpgt_epi8(v, _mm_set1_epi8(0x20));  // signed: 0x80.. are below
  const __m128i del = _mm_cmpeq_epi8(v, _mm_set1_epi8(0x7f));
  const __m128i hash = _mm_cmpeq_epi8(v, _mm_set1_epi8('#'));
  return 0xffffu & (~static_cast<uint32_t>(_mm_movemask_epi8(graphic)) |
                    static_cast<uint32_t>(_mm_movemask_epi8(_mm_or_si128(del, hash))));
}

#else

template <typename Test>
inline uint32_t block_mask(const char* p, Test&& test) {
  uint32_t mask = 0;
  for (size_t i = 0; i < kBlock; ++i) {
    mask |= uint32_t{test(static_cast<uint8_t>(p[i]))} << i;
  }
  return mask;
}

inline uint32_t control_mask(const char* p) {
  return block_mask(p, [](uint8_t c) { return (c < 0x20 && c != '\t') || c == 0x7f; });
}

inline uint32_t equal_mask(const char* p, char wanted) {
  return block_mask(p, [wanted](uint8_t c) { return c == static_cast<uint8_t>(wanted); });
}

inline uint32_t not_target_mask(const char* p) {
  return block_mask(p, [](uint8_t c) { return c <= 0x20 || c >= 0x7f || c == '#'; });
}

#endif

// The mask of the first n < 16 bytes, reading no further.
template <typename Mask>
inline uint32_t short_mask(const char* p, size_t n, Mask&& mask) {
  char block[kBlock] = {};
  std::memcpy(block, p, n);
  return mask(block) & ((1u << n) - 1);
}

// Copies n bytes and tells whether a control byte was among them: text that goes into a head is
// checked where it is copied, so that nobody can end a line for us.
inline bool copy_checked(char* to, const char* from, size_t n) {
  if (n < kBlock) {
    char block[kBlock];
    std::memset(block, ' ', kBlock);
    std::memcpy(block, from, n);
    std::memcpy(to, from, n);
    return control_mask(block) == 0;
  }
  uint32_t bad = 0;
  size_t i = 0;
  for (; i + kBlock <= n; i += kBlock) {
    bad |= control_mask(from + i);
    std::memcpy(to + i, from + i, kBlock);
  }
  bad |= control_mask(from + n - kBlock);
  std::memcpy(to + n - kBlock, from + n - kBlock, kBlock);
  return bad == 0;
}

}  // namespace pqedge::http1
