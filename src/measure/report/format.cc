#include "measure/report/format.h"

#include <cmath>
#include <format>

namespace pqedge::measure::report {

namespace {

constexpr std::string_view kNone = "\u2013";

// Three or four digits that count.
std::string with_unit(double value, std::string_view unit) {
  const double size = std::abs(value);
  const int decimals = size < 9.995 ? 2 : size < 999.95 ? 1 : 0;
  return format_number(value, decimals) + "\u00a0" + std::string(unit);
}

}  // namespace

std::string format_number(double value, int decimals) {
  if (!std::isfinite(value)) return std::string(kNone);
  std::string digits = std::format("{:.{}f}", std::abs(value), decimals);
  const size_t point = digits.find('.');
  size_t at = point == std::string::npos ? digits.size() : point;
  while (at > 3) {
    at -= 3;
    digits.insert(at, ",");
  }
  const bool zero = digits.find_first_of("123456789") == std::string::npos;
  return value < 0 && !zero ? "\u2212" + digits : digits;
}

std::string format_time(double us) {
  if (!std::isfinite(us)) return std::string(kNone);
  const double size = std::abs(us);
  if (size < 999.95) return with_unit(us, "\u00b5s");
  if (size < 999'950) return with_unit(us / 1e3, "ms");
  return with_unit(us / 1e6, "s");
}

std::string format_count(uint64_t count) {
  std::string digits = std::to_string(count);
  for (size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

std::string format_bytes(size_t bytes) { return format_count(bytes) + "\u00a0B"; }

std::string format_multiple(double ratio) {
  if (!std::isfinite(ratio)) return std::string(kNone);
  return format_number(ratio, ratio < 9.995 ? 2 : ratio < 99.95 ? 1 : 0) + "\u00d7";
}

std::string format_percent(double percent) {
  if (!std::isfinite(percent)) return std::string(kNone);
  return format_number(percent, std::abs(percent) < 99.95 ? 1 : 0) + "\u00a0%";
}

std::string format_date(std::string_view rfc3339) {
  // 2026-11-30T18:20:07Z
  if (rfc3339.size() < 20 || rfc3339[10] != 'T' || rfc3339.back() != 'Z') {
    return std::string(rfc3339);
  }
  return std::format("{} {} UTC", rfc3339.substr(0, 10), rfc3339.substr(11, 5));
}

std::string format_short(std::string_view id) { return std::string(id.substr(0, 12)); }

}  // namespace pqedge::measure::report
