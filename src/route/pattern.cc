#include "route/pattern.h"

#include <re2/re2.h>

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

}  // namespace pqedge::route
