// Problems by key into lines with file, line and column.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/problem.h"
#include "config/document.h"

namespace pqedge::config {

// Where every key of a document stands.
class Places {
 public:
  Places() = default;
  Places(const Node& root, std::string source) : source_(std::move(source)) { add_table(root, ""); }

  struct Place {
    std::string key;  // of the nearest thing that is there
    Position at;
  };
  // The key itself, or the nearest table or array around it.
  Place find(std::string_view key) const;
  std::string text(const Position& at) const;  // "FILE:LINE:COLUMN"
  const std::string& source() const { return source_; }

  template <typename Take>
  void for_each(Take&& take) const {
    for (const Place& p : places_) take(p.key, text(p.at));
  }

 private:
  void add(std::string key, const Position& at, const Node& value);
  void add_table(const Node& table, const std::string& prefix);

  std::string source_;
  std::vector<Place> places_;  // sorted by key once it is complete
};

// Lines in the order of the file. Past `most`, the last says how many there are more.
std::vector<std::string> render(const Problems& problems, const Places& places, size_t most);
std::string render_syntax_error(const SyntaxError& error, std::string_view source);

}  // namespace pqedge::config
