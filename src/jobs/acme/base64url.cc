#include "jobs/acme/base64url.h"

#include <algorithm>
#include <cstdint>

namespace pqedge::acme {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

int value_of(char c) {
  if (c == '+') c = '-';
  if (c == '/') c = '_';
  const size_t at = kAlphabet.find(c);
  return at == kAlphabet.npos ? -1 : static_cast<int>(at);
}

}  // namespace

std::string base64url(Bytes bytes) {
  std::string out;
  out.reserve((bytes.size() * 4 + 2) / 3);
  uint32_t bits = 0;
  int held = 0;
  for (const uint8_t byte : bytes) {
    bits = bits << 8 | byte;
    for (held += 8; held >= 6; held -= 6) out += kAlphabet[bits >> (held - 6) & 0x3f];
  }
  if (held > 0) out += kAlphabet[bits << (6 - held) & 0x3f];
  return out;
}

std::optional<std::string> from_base64(std::string_view text) {
  while (text.ends_with('=')) text.remove_suffix(1);
  if (text.size() % 4 == 1) return std::nullopt;
  std::string out;
  out.reserve(text.size() * 3 / 4);
  uint32_t bits = 0;
  int held = 0;
  for (const char c : text) {
    const int value = value_of(c);
    if (value < 0) return std::nullopt;
    bits = bits << 6 | static_cast<uint32_t>(value);
    held += 6;
    if (held < 8) continue;
    held -= 8;
    out += static_cast<char>(bits >> held & 0xff);
  }
  return out;
}

bool is_base64url(std::string_view text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](char c) { return kAlphabet.find(c) != kAlphabet.npos; });
}

}  // namespace pqedge::acme
