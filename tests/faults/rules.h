// A table of rules, and how it is read.
#pragma once

#include <cstddef>
#include <cstdint>

#include "faults/control.h"

namespace faults {

enum class Only : uint8_t { all, tcp, udp, local, gso, file };

struct Rule {
  uint32_t calls = 0;  // a bit for each Call
  Fault fault;
  uint64_t nth = 0;
  uint64_t every = 0;
  uint64_t share = UINT64_MAX;  // of 2^64
  uint64_t skip = 0;
  uint64_t times = UINT64_MAX;
  Only only = Only::all;
  char thread[16] = {};  // the beginning of its name
  int64_t offset = 0;
};

struct Rules {
  Rule rule[Shared::kRules];
  size_t count = 0;
  uint32_t calls = 0;
  int64_t offset = 0;
};

// Ends the process, told, where a text is none: a test that lets nothing fail proves nothing.
[[noreturn]] void refuse(const char* what, const char* word);

// Adds what `line` says to `rules`; it is cut into words.
void take_line(Rules& rules, char* line);

}  // namespace faults
