// Changes of a header (R4): compiled when the configuration loads, made in its order.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "route/shape_settings.h"
#include "route/template.h"

namespace pqedge::route {

// Immutable; safe to share between workers.
class HeaderRules {
 public:
  // Toward a backend, `set` and `remove` take every spelling that a backend could take for the name
  // (K50), and `add` every other spelling than the name's own; toward a client, the name alone.
  enum class Side : uint8_t { request, response };

  // The rules of all routes go before a route's own. The error says which variable is wrong.
  static Result<HeaderRules> compile(const std::vector<HeaderRule>& common,
                                     const std::vector<HeaderRule>& own, Side side);

  bool empty() const { return rules_.empty(); }
  void apply(http::Fields& fields, const Scene& scene) const;
  // Takes out of a request's trailers what the rules say in its header.
  void strip_trailers(http::Fields& trailers) const;

 private:
  struct Rule {
    HeaderRule::Kind kind = HeaderRule::Kind::set;
    http::Name id = http::Name::other;
    bool prefix = false;  // of remove: every name that begins so
    std::string name;     // as it is written; without the star
    Template value;
  };
  bool is_meant(const Rule& rule, const http::Field& field) const;
  void remove(const Rule& rule, http::Fields& fields) const;

  std::vector<Rule> rules_;
  Side side_ = Side::request;
};

// Names that rules cannot change: of the framing, and of one connection.
bool is_changeable(std::string_view name, HeaderRules::Side side);

}  // namespace pqedge::route
