#include "measure/provider/vectors.h"

#include <cstdlib>
#include <optional>

namespace pqedge::measure {

namespace {

std::optional<uint8_t> nibble(char c) {
  if (c >= '0' && c <= '9') return static_cast<uint8_t>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<uint8_t>(c - 'a' + 10);
  return std::nullopt;
}

bool append_hex(std::string_view hex, std::vector<uint8_t>& out) {
  if (hex.size() % 2 != 0) return false;
  for (size_t i = 0; i < hex.size(); i += 2) {
    auto high = nibble(hex[i]);
    auto low = nibble(hex[i + 1]);
    if (!high || !low) return false;
    out.push_back(static_cast<uint8_t>(*high << 4 | *low));
  }
  return true;
}

std::string_view trim(std::string_view s) {
  while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
  while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
  return s;
}

Result<Vector> parse_heading(std::string_view line) {
  auto close = line.find(']');
  auto bar = line.find('|');
  if (close == std::string_view::npos || bar == std::string_view::npos || bar < close) {
    return fail("a vector's heading is '[algorithm] check | source', not '{}'", line);
  }
  return Vector{std::string(line.substr(1, close - 1)),
                std::string(trim(line.substr(close + 1, bar - close - 1))),
                std::string(trim(line.substr(bar + 1))),
                {}};
}

}  // namespace

Result<Vectors> parse_vectors(std::string_view text) {
  Vectors vectors;
  std::vector<uint8_t>* value = nullptr;
  while (!text.empty()) {
    auto end = text.find('\n');
    auto line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.empty()) continue;
    if (line.front() == '[') {
      auto vector = parse_heading(line);
      if (!vector) return std::unexpected(vector.error());
      vectors.push_back(std::move(*vector));
      value = nullptr;
      continue;
    }
    auto hex = line;
    if (!line.starts_with("  ")) {
      auto equals = line.find('=');
      if (vectors.empty() || equals == std::string_view::npos) {
        return fail("'{}' is no line of a vector", line);
      }
      value = &vectors.back().values[std::string(trim(line.substr(0, equals)))];
      hex = line.substr(equals + 1);
    }
    if (!value || !append_hex(trim(hex), *value)) return fail("no hexadecimal value: '{}'", line);
  }
  return vectors;
}

Vectors published_vectors() {
  Vectors all;
  for (std::string_view text : {kKemVectors, kMlDsaVectors, kSlhDsaVectors, kClassicalVectors,
                                kStatefulVectors, kNistKatVectors}) {
    auto some = parse_vectors(text);
    // The texts are part of this program, and a test parses them.
    if (!some) std::abort();
    for (auto& vector : *some) all.push_back(std::move(vector));
  }
  return all;
}

}  // namespace pqedge::measure
