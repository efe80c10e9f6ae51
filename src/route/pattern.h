// A regular expression for a whole text, matched in linear time (RE2).
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "base/result.h"

namespace re2 {
class RE2;
}

namespace pqedge::route {

// Immutable; safe to share between threads.
class Pattern {
 public:
  // The error says what is wrong with it. It may take kMaxMemory bytes once compiled.
  static constexpr int64_t kMaxMemory = 1 << 20;
  static Result<Pattern> compile(std::string_view text);
  Pattern(Pattern&&) noexcept;
  Pattern& operator=(Pattern&&) noexcept;
  ~Pattern();

  bool matches(std::string_view text) const;  // the whole of it
  // And what its groups took, as far as `out` has room: views of `text`, empty where one took
  // nothing.
  bool groups(std::string_view text, std::span<std::string_view> out) const;
  size_t group_count() const;

 private:
  explicit Pattern(std::unique_ptr<const re2::RE2> compiled);
  std::unique_ptr<const re2::RE2> compiled_;
};

}  // namespace pqedge::route
