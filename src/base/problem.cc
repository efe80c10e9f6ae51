#include "base/problem.h"

#include <algorithm>
#include <format>

namespace pqedge {
namespace {

void check_range(Problems& problems, std::string_view key, uint64_t value, uint64_t least,
                 uint64_t most, std::string (*text)(uint64_t)) {
  if (value < least) {
    problems.push_back({std::string(key), std::format("{} is too small", text(value)),
                        std::format("the least is {}", text(least))});
  } else if (value > most) {
    problems.push_back({std::string(key), std::format("{} is too large", text(value)),
                        std::format("the most is {}", text(most))});
  }
}

}  // namespace

void check_count(Problems& problems, std::string_view key, uint64_t value, uint64_t least,
                 uint64_t most) {
  check_range(problems, key, value, least, most, [](uint64_t v) { return std::to_string(v); });
}

void check_size(Problems& problems, std::string_view key, uint64_t bytes, uint64_t least,
                uint64_t most) {
  check_range(problems, key, bytes, least, most, &size_text);
}

void check_duration(Problems& problems, std::string_view key, Nanos value, Nanos least,
                    Nanos most) {
  check_range(problems, key, value, least, most, &duration_text);
}

void check_label(Problems& problems, std::string_view key, std::string_view name) {
  const auto allowed = [](char c) {
    const char l = ascii_lower(c);
    return (l >= 'a' && l <= 'z') || is_digit(c) || c == '.' || c == '_' || c == '-';
  };
  if (name.empty()) {
    problems.push_back({std::string(key), "is empty", "give it a name"});
  } else if (name.size() > 64) {
    problems.push_back({std::string(key),
                        std::format("{} bytes are too many for a name", name.size()),
                        "the most is 64"});
  } else if (!std::ranges::all_of(name, allowed)) {
    problems.push_back(
        {std::string(key), in_quotes(name) + " is not a name",
         "use letters, digits, '.', '_' and '-': it is a label of metrics and logs"});
  }
}

std::string duration_text(Nanos value) {
  static constexpr struct {
    Nanos size;
    std::string_view name;
  } kUnits[] = {{86400 * kSecond, "d"}, {3600 * kSecond, "h"}, {60 * kSecond, "m"},
                {kSecond, "s"},         {kMillisecond, "ms"},  {kMicrosecond, "us"}};
  for (const auto& unit : kUnits) {
    if (value >= unit.size && value % unit.size == 0) {
      return std::format("{}{}", value / unit.size, unit.name);
    }
  }
  return value == 0 ? "0s" : std::format("{}ns", value);
}

std::string size_text(uint64_t bytes) {
  static constexpr struct {
    int shift;
    std::string_view name;
  } kUnits[] = {{30, "GiB"}, {20, "MiB"}, {10, "KiB"}};
  for (const auto& unit : kUnits) {
    if (bytes != 0 && bytes % (uint64_t{1} << unit.shift) == 0) {
      return std::format("{}{}", bytes >> unit.shift, unit.name);
    }
  }
  return std::to_string(bytes);
}

std::string in_quotes(std::string_view text) {
  constexpr size_t kMost = 200;
  std::string out = "\"";
  append_json_escaped(out, text.substr(0, kMost));
  out += text.size() > kMost ? "...\"" : "\"";
  return out;
}

std::string entry_key(std::string_view array, size_t index, std::string_view member) {
  std::string key = std::format("{}[{}]", array, index);
  if (!member.empty()) {
    key += '.';
    key += member;
  }
  return key;
}

}  // namespace pqedge
