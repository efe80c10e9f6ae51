#include "route/pattern_set.h"

#include <re2/re2.h>
#include <re2/set.h>

#include <algorithm>
#include <format>
#include <string>

namespace pqedge::route {
namespace {

// Of all patterns of a host together: RE2 builds its automaton within it, as paths need it.
constexpr int64_t kMaxSetMemory = 16 << 20;

re2::RE2::Options set_options() {
  re2::RE2::Options options(re2::RE2::Quiet);
  options.set_max_mem(kMaxSetMemory);
  return options;
}

}  // namespace

struct PatternSet::Set {
  re2::RE2::Set set{set_options(), re2::RE2::ANCHOR_BOTH};
};

PatternSet::PatternSet() : set_(std::make_unique<Set>()) {}
PatternSet::~PatternSet() = default;

Result<void> PatternSet::add(std::string_view pattern, uint32_t route) {
  auto alone = Pattern::compile(pattern);
  if (!alone) return std::unexpected(alone.error());
  std::string error;
  if (set_->set.Add({pattern.data(), pattern.size()}, &error) < 0) return fail("{}", error);
  alone_.push_back(std::move(*alone));
  routes_.push_back(route);
  return {};
}

Result<void> PatternSet::compile() {
  if (set_->set.Compile()) return {};
  return fail("the {} path patterns of one host are too large together: {} MiB are not enough",
              routes_.size(), kMaxSetMemory >> 20);
}

const std::vector<int>& PatternSet::matches(std::string_view path) const {
  static thread_local std::vector<int> found;
  re2::RE2::Set::ErrorInfo error{};
  if (set_->set.Match({path.data(), path.size()}, &found, &error)) {
    std::ranges::sort(found);
    return found;
  }
  found.clear();
  if (error.kind != re2::RE2::Set::kNoError) {
    // Out of memory for this path: one by one, which takes longer and finds the same.
    for (size_t i = 0; i < alone_.size(); ++i) {
      if (alone_[i].matches(path)) found.push_back(static_cast<int>(i));
    }
  }
  return found;
}

}  // namespace pqedge::route
