// Figures as people read them. What is not a finite number is shown as a dash.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace pqedge::measure::report {

std::string format_time(double us);          // "83.3 µs", "1.24 ms", "1.02 s"
std::string format_count(uint64_t count);    // "11,998"
std::string format_bytes(size_t bytes);      // "2,336 B"
std::string format_multiple(double ratio);   // "1.99×", "12.4×"
std::string format_percent(double percent);  // "5.2 %"
std::string format_number(double value, int decimals);

// "2026-11-30 18:20 UTC" of an RFC 3339 date in UTC; anything else as it came.
std::string format_date(std::string_view rfc3339);
// The first 12 characters of an identifier or a commit.
std::string format_short(std::string_view id);

}  // namespace pqedge::measure::report
