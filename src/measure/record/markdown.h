// The record as tables for people.
#pragma once

#include <cstdint>
#include <string>

#include "measure/record/record.h"

namespace pqedge::measure {

// GitHub's tables: where and how it was measured, then each track, chains, flights, tokens, limits
// and handshakes. A row that is withheld or absent says why instead of its figures.
std::string to_markdown(const Record& record);

// "36.0 µs", "1.24 ms", "3.2 s": three significant digits.
std::string time_text(double microseconds);
// "1,234".
std::string count_text(uint64_t n);
// "+27.9 %", "-3.1 %": of a ratio.
std::string change_text(double ratio);

}  // namespace pqedge::measure
