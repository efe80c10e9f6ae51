#include "route/pattern.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>

#include "base/problem.h"

namespace pqedge::route {
namespace {

// Where Abseil was built before C++17 its string_view is a type of its own.
absl::string_view view(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace

Result<Pattern> Pattern::compile(std::string_view text) {
  re2::RE2::Options options(re2::RE2::Quiet);
  options.set_max_mem(kMaxMemory);
  auto compiled = std::make_unique<const re2::RE2>(view(text), options);
  if (compiled->ok()) return Pattern(std::move(compiled));
  return fail("{} is no regular expression (RE2 syntax): {}", in_quotes(text), compiled->error());
}

Pattern::Pattern(std::unique_ptr<const re2::RE2> compiled) : compiled_(std::move(compiled)) {}
Pattern::Pattern(Pattern&&) noexcept = default;
Pattern& Pattern::operator=(Pattern&&) noexcept = default;
Pattern::~Pattern() = default;

bool Pattern::matches(std::string_view text) const {
  return re2::RE2::FullMatch(view(text), *compiled_);
}

size_t Pattern::group_count() const {
  return static_cast<size_t>(std::max(compiled_->NumberOfCapturingGroups(), 0));
}

bool Pattern::groups(std::string_view text, std::span<std::string_view> out) const {
  std::array<absl::string_view, 10> found;  // the first is the whole
  const size_t wanted = std::min({out.size(), group_count(), found.size() - 1});
  if (!compiled_->Match(view(text), 0, text.size(), re2::RE2::ANCHOR_BOTH, found.data(),
                        static_cast<int>(wanted) + 1)) {
    return false;
  }
  std::ranges::fill(out, std::string_view{});
  for (size_t i = 0; i < wanted; ++i) out[i] = {found[i + 1].data(), found[i + 1].size()};
  return true;
}

}  // namespace pqedge::route
