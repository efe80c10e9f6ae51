#include "base/base64.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace pqedge {
namespace {

constexpr std::string_view kPlain =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kUrl =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

// The value of each character of an alphabet; 64: not one of it.
using Values = std::array<uint8_t, 256>;

constexpr uint8_t kNone = 64;

constexpr Values values_of(std::string_view one, std::string_view other) {
  Values values{};
  values.fill(kNone);
  for (const std::string_view alphabet : {one, other}) {
    for (uint8_t i = 0; i < 64; ++i) values[static_cast<uint8_t>(alphabet[i])] = i;
  }
  return values;
}

constexpr Values kPlainValues = values_of(kPlain, kPlain);
constexpr Values kUrlValues = values_of(kUrl, kUrl);
constexpr Values kAnyValues = values_of(kPlain, kUrl);

std::string encode(Bytes bytes, std::string_view alphabet) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  uint32_t bits = 0;
  int held = 0;
  for (const uint8_t byte : bytes) {
    bits = bits << 8 | byte;
    for (held += 8; held >= 6; held -= 6) out += alphabet[bits >> (held - 6) & 0x3f];
  }
  if (held > 0) out += alphabet[bits << (6 - held) & 0x3f];
  return out;
}

// `text` without padding.
std::optional<std::string> decode(std::string_view text, const Values& values, bool strict) {
  if (text.size() % 4 == 1) return std::nullopt;
  std::string out;
  out.reserve(text.size() * 3 / 4);
  uint32_t bits = 0;
  int held = 0;
  for (const char c : text) {
    const uint8_t value = values[static_cast<uint8_t>(c)];
    if (value == kNone) return std::nullopt;
    bits = bits << 6 | value;
    held += 6;
    if (held < 8) continue;
    held -= 8;
    out += static_cast<char>(bits >> held & 0xff);
  }
  if (strict && (bits & ((1U << held) - 1)) != 0) return std::nullopt;
  return out;
}

}  // namespace

std::string base64(Bytes bytes) {
  std::string out = encode(bytes, kPlain);
  out.append((4 - out.size() % 4) % 4, '=');
  return out;
}

std::string base64url(Bytes bytes) { return encode(bytes, kUrl); }

std::optional<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  const size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  return decode(text.substr(0, text.size() - padding), kPlainValues, true);
}

std::optional<std::string> from_base64url(std::string_view text) {
  return decode(text, kUrlValues, true);
}

std::optional<std::string> from_any_base64(std::string_view text) {
  while (text.ends_with('=')) text.remove_suffix(1);
  return decode(text, kAnyValues, false);
}

bool is_base64url(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return kUrlValues[static_cast<uint8_t>(c)] != kNone;
  });
}

}  // namespace pqedge
