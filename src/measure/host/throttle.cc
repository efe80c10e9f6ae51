#include "measure/host/throttle.h"

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

namespace pqedge::measure {

namespace {

std::string_view take_line(std::string_view& text) {
  const size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

// "throttled_usec 1234" of a cpu.stat.
std::optional<uint64_t> counter(std::string_view stat, std::string_view name) {
  while (!stat.empty()) {
    const std::string_view line = take_line(stat);
    if (!line.starts_with(name) || line.size() <= name.size() || line[name.size()] != ' ') continue;
    const std::string_view digits = line.substr(name.size() + 1);
    uint64_t value = 0;
    const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error == std::errc()) return value;
  }
  return std::nullopt;
}

struct Hierarchy {
  std::string_view mount, counter;
  double per_second;
};
constexpr Hierarchy kVersion2{"/sys/fs/cgroup", "throttled_usec", 1e6};
constexpr Hierarchy kVersion1{"/sys/fs/cgroup/cpu", "throttled_time", 1e9};

// Of a group and all around it. In a container the path may be the host's, and the container's own
// group then stands at the top of what is mounted: hence upward to the very top.
std::optional<double> of_group(const HostFiles& files, const Hierarchy& hierarchy,
                               std::string_view group) {
  std::optional<double> seconds;
  while (true) {
    while (group.ends_with('/')) group.remove_suffix(1);
    const std::string path = std::string(hierarchy.mount).append(group).append("/cpu.stat");
    if (const auto ticks = counter(files.text(path).value_or(""), hierarchy.counter)) {
      seconds = seconds.value_or(0) + static_cast<double>(*ticks) / hierarchy.per_second;
    }
    if (group.empty()) return seconds;
    group = group.substr(0, group.rfind('/'));
  }
}

bool names_cpu(std::string_view controllers) {
  while (!controllers.empty()) {
    const size_t comma = controllers.find(',');
    if (controllers.substr(0, comma) == "cpu") return true;
    controllers.remove_prefix(comma == std::string_view::npos ? controllers.size() : comma + 1);
  }
  return false;
}

}  // namespace

// /proc/self/cgroup has lines ID:CONTROLLERS:PATH; version 2's names no controller (cgroups(7)).
std::optional<double> throttled_seconds(const HostFiles& files) {
  const std::string groups = files.text("/proc/self/cgroup").value_or("");
  std::string_view rest = groups;
  while (!rest.empty()) {
    const std::string_view line = take_line(rest);
    const size_t first = line.find(':');
    const size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const bool version2 = controllers.empty();
    if (!version2 && !names_cpu(controllers)) continue;
    const auto seconds = of_group(files, version2 ? kVersion2 : kVersion1, line.substr(second + 1));
    if (seconds) return seconds;
  }
  return std::nullopt;
}

}  // namespace pqedge::measure
