// Where in a JSON document one is: a chain of names and indices on the stack, made into a path
// ("tracks[0].suites[2].phases[1].mean_us") only when an error needs it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pqedge::measure {

struct Place {
  const Place* parent = nullptr;
  std::string_view name = {};  // empty: an element of a list
  size_t index = 0;

  std::string path() const {
    std::string before = parent == nullptr ? std::string() : parent->path();
    if (name.empty()) {
      return parent == nullptr ? before : before + '[' + std::to_string(index) + ']';
    }
    return before.empty() ? std::string(name) : before + '.' + std::string(name);
  }
};

}  // namespace pqedge::measure
