// The canonical path: what every decision is made on. The checks are written on their own, without
// the canonicaliser's tables.
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "http/uri.h"

namespace {

using pqedge::Arena;
using pqedge::http::canonical_path;

void require(bool holds) {
  if (!holds) std::abort();
}

bool is_hex(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }

// One level of percent-decoding; what is malformed stays.
std::string decode_once(std::string_view s) {
  std::string out;
  for (size_t i = 0; i < s.size(); ++i) {
    if (s[i] == '%' && i + 2 < s.size() && is_hex(s[i + 1]) && is_hex(s[i + 2])) {
      out += static_cast<char>(std::stoi(std::string(s.substr(i + 1, 2)), nullptr, 16));
      i += 2;
    } else {
      out += s[i];
    }
  }
  return out;
}

bool has_dot_segment(std::string_view path) {
  while (true) {
    const size_t end = path.find_first_of("/\\");
    const std::string_view piece = path.substr(0, end);
    const std::string_view name = piece.substr(0, piece.find(';'));
    if (name == "." || name == "..") return true;
    if (end == std::string_view::npos) return false;
    path.remove_prefix(end + 1);
  }
}

void check_form(std::string_view path) {
  require(path.starts_with('/'));
  require(path.find("//") == std::string_view::npos);
  for (size_t i = 0; i < path.size(); ++i) {
    const auto c = static_cast<unsigned char>(path[i]);
    if (c == '%') {
      require(i + 2 < path.size() && is_hex(path[i + 1]) && is_hex(path[i + 2]));
      require(!std::islower(static_cast<unsigned char>(path[i + 1])) &&
              !std::islower(static_cast<unsigned char>(path[i + 2])));
    } else {
      require(c < 0x80 &&
              (std::isalnum(c) || std::string_view("-._~!$&'()*+,;=:@/").contains(path[i])));
    }
  }
}

// However often a backend decodes, no dot segment appears.
void check_dots(std::string_view path) {
  std::string level(path);
  for (int i = 0; i < 8; ++i) {
    require(!has_dot_segment(level));
    std::string next = decode_once(level);
    if (next == level) return;
    level = std::move(next);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view raw(reinterpret_cast<const char*>(data), size);
  Arena arena;
  const auto path = canonical_path(raw, arena);
  if (!path) {
    require(path.error().status == 400 && !path.error().reason.empty());
    return 0;
  }
  check_form(*path);
  check_dots(*path);
  const auto again = canonical_path(*path, arena);
  require(again.has_value() && *again == *path);
  // What the backend makes of the bytes that came is what it makes of the canonical ones.
  std::string ours = decode_once(*path);
  std::string theirs = decode_once(raw);
  const auto merge = [](std::string& s) {
    std::string out;
    for (char c : s) {
      if (c != '/' || !out.ends_with('/')) out += c;
    }
    s = out;
  };
  merge(ours);
  merge(theirs);
  require(ours == theirs);
  return 0;
}
