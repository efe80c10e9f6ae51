// The path patterns of one host: all are tried in one pass over the path.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "route/pattern.h"

namespace pqedge::route {

// Immutable after compile(); safe to share between threads.
class PatternSet {
 public:
  PatternSet();
  ~PatternSet();
  // Each pattern stands for the whole path, and belongs to `route`. In order of preference.
  Result<void> add(std::string_view pattern, uint32_t route);
  Result<void> compile();

  // visit(route) of each that matches, in the order they were added, until it returns true.
  template <typename Visit>
  bool any(std::string_view path, Visit&& visit) const {
    for (const int index : matches(path)) {
      if (visit(routes_[static_cast<size_t>(index)])) return true;
    }
    return false;
  }

 private:
  struct Set;
  // Ascending; valid until this thread's next call.
  const std::vector<int>& matches(std::string_view path) const;

  std::unique_ptr<Set> set_;
  std::vector<Pattern> alone_;  // for when the set runs out of its memory
  std::vector<uint32_t> routes_;
};

}  // namespace pqedge::route
