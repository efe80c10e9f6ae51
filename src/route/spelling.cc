#include "route/spelling.h"

#include "base/text.h"

namespace pqedge::route {
namespace {

// Names longer than any that is configured are not looked up.
constexpr size_t kLongestName = 128;

char ascii_upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c & ~0x20) : c; }

// The first letter of each word, and the others as they are: "x-camelCase" is "X-CamelCase".
std::string_view in_words(std::string_view name, Arena& arena) {
  char* const text = static_cast<char*>(arena.allocate(name.size()));
  char before = '-';
  for (size_t i = 0; i < name.size(); ++i) {
    text[i] = before == '-' ? ascii_upper(name[i]) : name[i];
    before = name[i];
  }
  return {text, name.size()};
}

}  // namespace

Spelling::Spelling(const SpellingSettings& settings) : words_(settings.words) {
  for (const std::string& name : settings.names) names_.try_emplace(to_lower(name), name);
}

std::string_view Spelling::spelled(std::string_view name, Arena& arena) const {
  if (!names_.empty() && name.size() <= kLongestName) {
    char lower[kLongestName];
    for (size_t i = 0; i < name.size(); ++i) lower[i] = ascii_lower(name[i]);
    const auto it = names_.find(std::string_view(lower, name.size()));
    if (it != names_.end()) return it->second;
  }
  return words_ ? in_words(name, arena) : name;
}

void Spelling::apply(http::Fields& fields) const {
  fields.for_each_mutable([&](http::Field& f) { f.name = spelled(f.name, fields.arena()); });
}

}  // namespace pqedge::route
