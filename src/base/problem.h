// What a module finds wrong with its settings. Each problem is named by the key it concerns, as the
// configuration file writes it ("route[2].path_prefix"), so that `config` can say file and line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "base/time.h"

namespace pqedge {

struct Problem {
  std::string key;      // path of the key; entries of arrays by index from 0
  std::string what;     // what is wrong, to be read after the key
  std::string hint;     // what to do about it; may be empty
  std::string related;  // key path of another place that the text speaks of last; may be empty
  bool warning = false;
};

using Problems = std::vector<Problem>;

// Both ends included. `key` is only copied when there is a problem.
void check_count(Problems& problems, std::string_view key, uint64_t value, uint64_t least,
                 uint64_t most);
void check_size(Problems& problems, std::string_view key, uint64_t bytes, uint64_t least,
                uint64_t most);
void check_duration(Problems& problems, std::string_view key, Nanos value, Nanos least, Nanos most);

// A name that becomes a label of metrics and logs: 1 to 64 letters, digits, '.', '_' and '-'.
void check_label(Problems& problems, std::string_view key, std::string_view name);

// "1h", "90s", "500ms": in the largest unit that divides it.
std::string duration_text(Nanos value);
// "64KiB", "1000": in the largest binary unit that divides it.
std::string size_text(uint64_t bytes);
// In double quotes, with control bytes and bytes that are not UTF-8 escaped.
std::string in_quotes(std::string_view text);
// A hint with the candidate that is closest to `word`, or an empty text when none is close.
template <typename Range>
std::string did_you_mean(std::string_view word, const Range& candidates) {
  const std::string_view best = closest(word, candidates);
  return best.empty() ? std::string() : "did you mean " + in_quotes(best) + "?";
}

// "route[2]", "route[2].path".
std::string entry_key(std::string_view array, size_t index, std::string_view member = {});

}  // namespace pqedge
