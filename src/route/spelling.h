// How field names are written toward old HTTP/1.1 peers (R21). HTTP/2 and 3 have no case to keep.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "http/fields.h"
#include "route/shape_settings.h"

namespace pqedge::route {

// Immutable; safe to share between workers. It must live as long as the fields.
class Spelling {
 public:
  explicit Spelling(const SpellingSettings& settings);
  void apply(http::Fields& fields) const;

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view s) const { return std::hash<std::string_view>{}(s); }
  };
  std::string_view spelled(std::string_view name, Arena& arena) const;

  std::unordered_map<std::string, std::string, Hash, std::equal_to<>> names_;  // by lower case
  bool words_ = false;
};

}  // namespace pqedge::route
