#include "base/text.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <format>
#include <vector>

namespace pqedge {

bool iequals(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (ascii_lower(a[i]) != ascii_lower(b[i])) return false;
  }
  return true;
}

std::string to_lower(std::string_view s) {
  std::string out(s);
  for (char& c : out) c = ascii_lower(c);
  return out;
}

std::string to_hex(Bytes bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (uint8_t b : bytes) {
    out += kDigits[b >> 4];
    out += kDigits[b & 15];
  }
  return out;
}

std::optional<std::string> from_hex(std::string_view hex) {
  if (hex.size() % 2 != 0) return std::nullopt;
  std::string out;
  out.reserve(hex.size() / 2);
  for (size_t i = 0; i < hex.size(); i += 2) {
    const int hi = hex_value(hex[i]);
    const int lo = hex_value(hex[i + 1]);
    if (hi < 0 || lo < 0) return std::nullopt;
    out += static_cast<char>(hi * 16 + lo);
  }
  return out;
}

std::optional<uint64_t> parse_decimal(std::string_view s) {
  if (s.empty() || s.size() > 20 || !std::ranges::all_of(s, is_digit)) return std::nullopt;
  uint64_t v = 0;
  const auto [end, ec] = std::from_chars(s.data(), s.data() + s.size(), v);
  if (ec != std::errc{} || end != s.data() + s.size()) return std::nullopt;
  return v;
}

std::string_view trim_ows(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t')) s.remove_suffix(1);
  return s;
}

namespace {

// Length of the well-formed UTF-8 sequence at the front of s (Unicode 15, table 3-7), or 0.
size_t utf8_sequence(std::string_view s, uint32_t& code_point) {
  const auto b = [&](size_t i) { return static_cast<uint8_t>(s[i]); };
  const auto continues = [&](size_t i, uint8_t low = 0x80, uint8_t high = 0xbf) {
    return i < s.size() && b(i) >= low && b(i) <= high;
  };
  const uint8_t c = b(0);
  if (c < 0x80) {
    code_point = c;
    return 1;
  }
  if (c >= 0xc2 && c <= 0xdf && continues(1)) {
    code_point = ((c & 0x1fu) << 6) | (b(1) & 0x3fu);
    return 2;
  }
  if (c >= 0xe0 && c <= 0xef) {
    const uint8_t low = c == 0xe0 ? 0xa0 : 0x80;
    const uint8_t high = c == 0xed ? 0x9f : 0xbf;
    if (!continues(1, low, high) || !continues(2)) return 0;
    code_point = ((c & 0x0fu) << 12) | ((b(1) & 0x3fu) << 6) | (b(2) & 0x3fu);
    return 3;
  }
  if (c >= 0xf0 && c <= 0xf4) {
    const uint8_t low = c == 0xf0 ? 0x90 : 0x80;
    const uint8_t high = c == 0xf4 ? 0x8f : 0xbf;
    if (!continues(1, low, high) || !continues(2) || !continues(3)) return 0;
    code_point = 0x10000;
    return 4;
  }
  return 0;
}

constexpr uint64_t kOnes = 0x0101010101010101;
constexpr uint64_t kHighs = 0x8080808080808080;

// Non-zero if a byte of `word` is zero. Bytes above the lowest zero may be wrong: good for "any".
constexpr uint64_t any_zero(uint64_t word) { return (word - kOnes) & ~word & kHighs; }

// Bytes at the front that stand for themselves in a JSON string, eight at a time.
size_t plain_prefix(std::string_view s) {
  size_t n = 0;
  for (; n + 8 <= s.size(); n += 8) {
    uint64_t word;
    std::memcpy(&word, s.data() + n, sizeof word);
    const uint64_t below_space = (word - kOnes * 0x20) & ~word;
    const uint64_t special = word | below_space | any_zero(word ^ (kOnes * '"')) |
                             any_zero(word ^ (kOnes * '\\')) | any_zero(word ^ (kOnes * 0x7f));
    if ((special & kHighs) != 0) break;
  }
  for (; n < s.size(); ++n) {
    const auto c = static_cast<uint8_t>(s[n]);
    if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\') break;
  }
  return n;
}

}  // namespace

void append_json_escaped(std::string& out, std::string_view s) {
  while (!s.empty()) {
    const size_t plain = plain_prefix(s);
    out.append(s.substr(0, plain));
    s.remove_prefix(plain);
    if (s.empty()) return;
    const char c = s.front();
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
      s.remove_prefix(1);
      continue;
    }
    uint32_t cp = 0;
    const size_t n = utf8_sequence(s, cp);
    if (n == 0) {
      out += "\\ufffd";
      s.remove_prefix(1);
      continue;
    }
    if (cp < 0x20 || (cp >= 0x7f && cp < 0xa0) || cp == 0x2028 || cp == 0x2029) {
      std::format_to(std::back_inserter(out), "\\u{:04x}", cp);
    } else {
      out.append(s.substr(0, n));
    }
    s.remove_prefix(n);
  }
}

void append_text_escaped(std::string& out, std::string_view s) {
  for (char c : s) {
    const auto u = static_cast<uint8_t>(c);
    if (u < 0x20 || u > 0x7e || c == '\\') {
      std::format_to(std::back_inserter(out), "\\x{:02x}", u);
    } else {
      out += c;
    }
  }
}

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t up = row[j];
      row[j] = std::min({up + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = up;
    }
  }
  return row[b.size()];
}

}  // namespace pqedge
