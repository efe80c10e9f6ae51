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

// Control bytes: 0x00..0x1f and DEL (RFC 5234 B.1). All but HTAB are refused in a field line (RFC
// 9110 5.5); CR and LF are among them, so that every line end is seen.
inline uint32_t control_mask(const char* p) {
  const __m128i v = load_block(p);
  const __m128i low = _mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(0x1f)), v);
  const __m128i del = _mm_cmpeq_epi8(v, _mm_set1_epi8(0x7f));
  return static_cast<uint32_t>(_mm_movemask_epi8(_mm_or_si128(low, del)));
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

// What is neither letter, digit, '-' nor '_': of field names nearly all are made of these alone.
inline uint32_t unusual_name_mask(const char* p) {
  const auto within = [](__m128i v, char low, char high) {  // unsigned
    const __m128i from_low = _mm_sub_epi8(v, _mm_set1_epi8(low));
    const __m128i most = _mm_set1_epi8(static_cast<char>(high - low));
    return _mm_cmpeq_epi8(_mm_min_epu8(from_low, most), from_low);
  };
  const __m128i v = load_block(p);
  const __m128i letter = within(_mm_or_si128(v, _mm_set1_epi8(0x20)), 'a', 'z');
  const __m128i digit = within(v, '0', '9');
  const __m128i dash =
      _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('-')), _mm_cmpeq_epi8(v, _mm_set1_epi8('_')));
  const __m128i usual = _mm_or_si128(_mm_or_si128(letter, digit), dash);
  return 0xffffu & ~static_cast<uint32_t>(_mm_movemask_epi8(usual));
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
  return block_mask(p, [](uint8_t c) { return c < 0x20 || c == 0x7f; });
}

inline uint32_t equal_mask(const char* p, char wanted) {
  return block_mask(p, [wanted](uint8_t c) { return c == static_cast<uint8_t>(wanted); });
}

inline uint32_t not_target_mask(const char* p) {
  return block_mask(p, [](uint8_t c) { return c <= 0x20 || c >= 0x7f || c == '#'; });
}

inline uint32_t unusual_name_mask(const char* p) {
  return block_mask(p, [](uint8_t c) {
    const uint8_t lower = c | 0x20;
    return !((lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_');
  });
}

#endif

// The mask of the first n < 16 bytes, reading no further.
template <typename Mask>
inline uint32_t short_mask(const char* p, size_t n, Mask&& mask) {
  char block[kBlock] = {};
  std::memcpy(block, p, n);
  return mask(block) & ((1u << n) - 1);
}

// Four blocks at once.
inline constexpr size_t kWideBlock = 4 * kBlock;

inline uint64_t wide_control_mask(const char* p) {
  return uint64_t{control_mask(p)} | uint64_t{control_mask(p + kBlock)} << 16 |
         uint64_t{control_mask(p + 2 * kBlock)} << 32 |
         uint64_t{control_mask(p + 3 * kBlock)} << 48;
}

// The same of the first n < 64 bytes.
inline uint64_t short_wide_control_mask(const char* p, size_t n) {
  char block[kWideBlock];
  std::memset(block, ' ', kWideBlock);
  std::memcpy(block, p, n);
  return wide_control_mask(block);
}

template <typename Word>
inline Word load(const char* p) {
  Word w;
  std::memcpy(&w, p, sizeof w);
  return w;
}
template <typename Word>
inline void store(char* p, Word w) {
  std::memcpy(p, &w, sizeof w);
}

// Whether one of eight bytes is a control byte, or perhaps one above 0x7f.
inline bool may_have_control(uint64_t w) {
  constexpr uint64_t kOnes = 0x0101010101010101;
  const uint64_t below = w - kOnes * 0x20;          // borrows where a byte is below 0x20
  const uint64_t del = (w ^ kOnes * 0x7f) - kOnes;  // and where it is 0x7f
  return ((below | del | w) & kOnes * 0x80) != 0;
}

// Copies n bytes and tells whether they are free of control bytes other than HTAB: text that goes
// into a head is checked where it is copied, so that nobody can end a line for us.
inline bool copy_checked(char* to, const char* from, size_t n) {
  const auto sound = [from, n] {  // exact, and seldom needed
    bool good = true;
    for (size_t i = 0; i < n; ++i) {
      const auto c = static_cast<uint8_t>(from[i]);
      good = good && ((c >= 0x20 && c != 0x7f) || c == '\t');
    }
    return good;
  };
  if (n < 4) {
    for (size_t i = 0; i < n; ++i) to[i] = from[i];
    return sound();
  }
  if (n < 8) {
    const auto first = load<uint32_t>(from);
    const auto last = load<uint32_t>(from + n - 4);
    store(to, first);
    store(to + n - 4, last);
    return !may_have_control(uint64_t{first} << 32 | last) || sound();
  }
  if (n < kBlock) {
    const auto first = load<uint64_t>(from);
    const auto last = load<uint64_t>(from + n - 8);
    store(to, first);
    store(to + n - 8, last);
    return !(may_have_control(first) || may_have_control(last)) || sound();
  }
  uint32_t found = 0;
  for (size_t i = 0; i + kBlock <= n; i += kBlock) {
    found |= control_mask(from + i);
    std::memcpy(to + i, from + i, kBlock);
  }
  found |= control_mask(from + n - kBlock);
  std::memcpy(to + n - kBlock, from + n - kBlock, kBlock);
  return found == 0 || sound();
}

}  // namespace pqedge::http1
