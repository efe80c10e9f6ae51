#include "http/names.h"

#include <array>
#include <cstddef>
#include <cstring>

#include "base/text.h"

namespace pqedge::http {
namespace {

constexpr size_t kNames = static_cast<size_t>(Name::count_);

constexpr std::array<std::string_view, kNames> kLower = {
    "",
#define NAME(id, lower, canonical) lower,
#include "http/names.inc"
#undef NAME
};

constexpr std::array<std::string_view, kNames> kCanonical = {
    "",
#define NAME(id, lower, canonical) canonical,
#include "http/names.inc"
#undef NAME
};

// ---- the perfect hash --------------------------------------------------------------------------

constexpr size_t kTableBits = 10;
constexpr size_t kShortest = 2;  // "te"

constexpr size_t longest() {
  size_t n = 0;
  for (std::string_view s : kLower) n = s.size() > n ? s.size() : n;
  return n;
}
constexpr size_t kLongest = longest();

// Two letters at each end, without their case. Case folding by 0x20 mixes up other bytes too, which
// the comparison after the look-up sorts out.
constexpr uint32_t ends(const char* s, size_t n) {
  const auto at = [&](size_t i) { return static_cast<uint32_t>(static_cast<uint8_t>(s[i])); };
  const uint32_t four = at(0) | at(1) << 8 | at(n - 2) << 16 | at(n - 1) << 24;
  return four | 0x20202020;
}

constexpr size_t slot(const char* s, size_t n, uint32_t seed) {
  const auto middle = static_cast<uint32_t>(static_cast<uint8_t>(s[n / 2])) | 0x20;
  const uint32_t h = (ends(s, n) ^ (static_cast<uint32_t>(n) << 12) ^ (middle << 4)) * seed;
  return (h ^ h >> 15) * 0x9e3779b1u >> (32 - kTableBits);
}

struct Table {
  uint32_t seed = 0;
  std::array<uint8_t, size_t{1} << kTableBits> names{};
};

// Tries seeds until no two names share a slot.
constexpr Table make_table() {
  for (uint32_t seed = 0x2545f491;; seed = seed * 1664525 + 1013904223) {
    Table t{seed | 1, {}};
    bool clash = false;
    for (size_t i = 1; i < kNames && !clash; ++i) {
      uint8_t& place = t.names[slot(kLower[i].data(), kLower[i].size(), t.seed)];
      clash = place != 0;
      place = static_cast<uint8_t>(i);
    }
    if (!clash) return t;
  }
}
constexpr Table kTable = make_table();

// ---- the comparison without case ---------------------------------------------------------------

// A name as words to compare with: the bits that differ from it must be those of a letter's case.
struct Pattern {
  static constexpr size_t kSize = 32;
  static_assert(kLongest <= kSize);

  std::array<char, kSize> lower{};
  std::array<char, kSize> fixed{};  // per byte: the bits that may not differ
  size_t size = 0;                  // 0: no name at all

  template <typename Word>
  bool same(const char* s, size_t at) const {
    Word given, wanted, mask;
    std::memcpy(&given, s + at, sizeof(Word));
    std::memcpy(&wanted, lower.data() + at, sizeof(Word));
    std::memcpy(&mask, fixed.data() + at, sizeof(Word));
    return ((given ^ wanted) & mask) == 0;
  }

  // Two words that overlap cover each length.
  bool matches(std::string_view s) const {
    const size_t n = s.size();
    const char* const p = s.data();
    if (n != size) return false;
    if (n >= 16) {
      return same<uint64_t>(p, 0) && same<uint64_t>(p, 8) && same<uint64_t>(p, n - 16) &&
             same<uint64_t>(p, n - 8);
    }
    if (n >= 8) return same<uint64_t>(p, 0) && same<uint64_t>(p, n - 8);
    if (n >= 4) return same<uint32_t>(p, 0) && same<uint32_t>(p, n - 4);
    return same<uint16_t>(p, 0) && same<uint16_t>(p, n - 2);
  }
};

constexpr std::array<Pattern, kNames> make_patterns() {
  std::array<Pattern, kNames> patterns{};
  for (size_t i = 1; i < kNames; ++i) {
    Pattern& p = patterns[i];
    p.size = kLower[i].size();
    for (size_t k = 0; k < p.size; ++k) {
      const char c = kLower[i][k];
      p.lower[k] = c;
      p.fixed[k] = static_cast<char>(c >= 'a' && c <= 'z' ? 0xdf : 0xff);
    }
  }
  return patterns;
}
constexpr std::array<Pattern, kNames> kPatterns = make_patterns();

// ---- character classes -------------------------------------------------------------------------

enum : uint8_t { kToken = 1, kUpper = 2 };

constexpr std::array<uint8_t, 256> make_classes() {
  std::array<uint8_t, 256> classes{};
  for (int c = '0'; c <= '9'; ++c) classes[static_cast<size_t>(c)] = kToken;
  for (int c = 'a'; c <= 'z'; ++c) classes[static_cast<size_t>(c)] = kToken;
  for (int c = 'A'; c <= 'Z'; ++c) classes[static_cast<size_t>(c)] = kToken | kUpper;
  for (char c : std::string_view("!#$%&'*+-.^_`|~")) classes[static_cast<size_t>(c)] = kToken;
  return classes;
}
constexpr std::array<uint8_t, 256> kClasses = make_classes();

uint8_t class_of(char c) { return kClasses[static_cast<uint8_t>(c)]; }

constexpr uint64_t repeat(uint8_t b) { return 0x0101010101010101u * b; }

// Whether one of eight bytes is below 0x20 or is 0x7f.
constexpr bool has_control(uint64_t w) {
  const uint64_t below = (w - repeat(0x20)) & ~w;
  const uint64_t d = w ^ repeat(0x7f);
  const uint64_t del = (d - repeat(1)) & ~d;
  return ((below | del) & repeat(0x80)) != 0;
}

bool is_value_byte(char c) {
  const auto u = static_cast<uint8_t>(c);
  return (u >= 0x20 && u != 0x7f) || c == '\t';
}

}  // namespace

Name known_name(std::string_view name) {
  if (name.size() < kShortest || name.size() > kLongest) return Name::other;
  const uint8_t i = kTable.names[slot(name.data(), name.size(), kTable.seed)];
  return kPatterns[i].matches(name) ? static_cast<Name>(i) : Name::other;
}

std::string_view lower_name(Name name) { return kLower[static_cast<size_t>(name)]; }
std::string_view canonical_name(Name name) { return kCanonical[static_cast<size_t>(name)]; }

bool is_token(std::string_view s) {
  uint8_t all = kToken;
  for (char c : s) all &= class_of(c);
  return !s.empty() && all != 0;
}

bool is_lower_token(std::string_view s) {
  uint8_t all = kToken;
  uint8_t any = 0;
  for (char c : s) {
    all &= class_of(c);
    any |= class_of(c);
  }
  return !s.empty() && all != 0 && (any & kUpper) == 0;
}

bool is_field_value(std::string_view s) {
  if (s.empty()) return true;
  const auto space = [](char c) { return c == ' ' || c == '\t'; };
  if (space(s.front()) || space(s.back())) return false;
  const char* p = s.data();
  const char* const end = p + s.size();
  for (; end - p >= 8; p += 8) {
    uint64_t w;
    std::memcpy(&w, p, 8);
    if (!has_control(w)) continue;  // may say so of a byte that is none: they are looked at singly
    for (int i = 0; i < 8; ++i) {
      if (!is_value_byte(p[i])) return false;
    }
  }
  for (; p < end; ++p) {
    if (!is_value_byte(*p)) return false;
  }
  return true;
}

}  // namespace pqedge::http
