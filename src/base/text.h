// ASCII text helpers. Protocol text is bytes: nothing here looks at the locale.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace pqedge {

constexpr char ascii_lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
}
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Equal but for the case of ASCII letters.
bool iequals(std::string_view a, std::string_view b);
std::string to_lower(std::string_view s);

// Value of a hexadecimal digit, or -1.
constexpr int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}
// The byte that "%XX" at the front of `text` stands for (RFC 3986 2.1), or -1.
constexpr int percent_byte(std::string_view text) {
  if (text.size() < 3 || text[0] != '%') return -1;
  const int high = hex_value(text[1]);
  const int low = hex_value(text[2]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}
std::string to_hex(Bytes bytes);
std::optional<std::string> from_hex(std::string_view hex);

// Strict: one to 20 ASCII digits and nothing else; nullopt also when it does not fit.
std::optional<uint64_t> parse_decimal(std::string_view s);

// Strips spaces and tabs (OWS, RFC 9110 5.6.3) at both ends.
std::string_view trim_ows(std::string_view s);

// Calls take(member) for each non-empty member of a comma-separated list, trimmed
// (RFC 9110 5.6.1). Quoted strings are not looked into.
template <typename Take>
void for_each_member(std::string_view list, Take&& take) {
  while (!list.empty()) {
    const size_t comma = list.find(',');
    const std::string_view member = trim_ows(list.substr(0, comma));
    if (!member.empty()) take(member);
    if (comma == std::string_view::npos) return;
    list.remove_prefix(comma + 1);
  }
}

// Appends `s` as the inside of a JSON string: always valid UTF-8, no control byte (also none of
// U+0080..U+009F, U+2028, U+2029) goes through raw. A byte that is not part of well-formed UTF-8
// becomes U+FFFD.
void append_json_escaped(std::string& out, std::string_view s);

// Appends `s` for a line of plain text: every byte outside 0x20..0x7e, and the backslash, as \xHH.
void append_text_escaped(std::string& out, std::string_view s);

// The candidate closest to `word` (edit distance at most a third of its length), or empty: for
// "did you mean" hints.
template <typename Range>
std::string_view closest(std::string_view word, const Range& candidates);

size_t edit_distance(std::string_view a, std::string_view b);

template <typename Range>
std::string_view closest(std::string_view word, const Range& candidates) {
  std::string_view best;
  size_t best_distance = word.size() / 3 + 1;
  for (std::string_view c : candidates) {
    const size_t d = edit_distance(word, c);
    if (d < best_distance || (d == best_distance && best.empty())) {
      best = c;
      best_distance = d;
    }
  }
  return best;
}

}  // namespace pqedge
