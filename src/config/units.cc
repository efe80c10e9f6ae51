#include "config/units.h"

#include <span>

#include "base/text.h"

namespace pqedge::config {
namespace {

struct Unit {
  std::string_view name;
  uint64_t factor;
};

std::optional<uint64_t> parse(std::string_view text, std::span<const Unit> units) {
  size_t digits = 0;
  while (digits < text.size() && is_digit(text[digits])) ++digits;
  const auto number = parse_decimal(text.substr(0, digits));
  if (!number) return std::nullopt;
  const std::string_view name = text.substr(digits);
  for (const Unit& unit : units) {
    if (unit.name != name) continue;
    if (*number > UINT64_MAX / unit.factor) return std::nullopt;
    return *number * unit.factor;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Nanos> parse_duration(std::string_view text) {
  static constexpr Unit kUnits[] = {{"us", kMicrosecond},  {"ms", kMillisecond},
                                    {"s", kSecond},        {"m", 60 * kSecond},
                                    {"h", 3600 * kSecond}, {"d", 86400 * kSecond}};
  return parse(text, kUnits);
}

std::optional<uint64_t> parse_size(std::string_view text) {
  static constexpr Unit kUnits[] = {{"", 1},
                                    {"B", 1},
                                    {"KB", 1000},
                                    {"MB", 1'000'000},
                                    {"GB", 1'000'000'000},
                                    {"KiB", uint64_t{1} << 10},
                                    {"MiB", uint64_t{1} << 20},
                                    {"GiB", uint64_t{1} << 30}};
  return parse(text, kUnits);
}

}  // namespace pqedge::config
