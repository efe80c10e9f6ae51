// Which route takes a request: compiled once a configuration, looked up without side effects.
//
// Of the routes that match a request whole (host, path and conditions) one is taken, by the first
// of these that differs:
//   1. the higher priority;
//   2. the host: exact, then the longest wildcard, then any host;
//   3. the path: exact, then a pattern, then the longest prefix;
//   4. among the same host and path the one that asks for more (Conditions::Rank);
//   5. the order of the file: only patterns, and routes with other conditions, can come to that.
// A route that can never be reached is refused by validate().
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "http/message.h"
#include "route/conditions.h"
#include "route/settings.h"

namespace pqedge::route {

class PatternSet;  // pattern_set.h

struct Route {
  uint32_t index = 0;  // its place in the configuration, from 0
  const RouteSettings& settings;
  Conditions conditions;
};

// Immutable. Safe to share between workers.
class Table {
 public:
  Table();  // no route at all
  Table(Table&&) noexcept;
  Table& operator=(Table&&) noexcept;
  ~Table();

  // Refuses what validate() (validate.h) refuses; the message has one problem a line.
  static Result<Table> compile(std::vector<RouteSettings> settings);
  // The same over settings that somebody else keeps, as they are, for as long as the table lives.
  static Result<Table> compile_over(const std::vector<RouteSettings>& settings);

  // Looks at request.host and request.path, as canonicalise() set them, then at the conditions of
  // those routes alone that these leave. Null: no route. Takes time by the labels of the host and
  // the segments of the path that configured routes share, not by the number of routes. Allocates
  // nothing where no pattern is configured for the host.
  const Route* match(const Subject& subject) const {
    return match({subject.request.host, subject.request.path, &subject});
  }
  // The same of a host (lower case) and a path alone: routes with conditions take nothing.
  const Route* match(std::string_view host, std::string_view path) const {
    return match({host, path, nullptr});
  }

  const std::vector<Route>& routes() const { return routes_; }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  // A place in the tree of path segments of one host. The values are indices of lists_.
  struct PathNode {
    uint32_t parent = kNone;
    uint32_t exact = kNone;   // the path that ends here: "/a/b"
    uint32_t prefix = kNone;  // this path and all below it: path_prefix "/a/b"
    uint32_t below = kNone;   // only what is below it: path_prefix "/a/b/"
  };
  struct Edge {
    uint32_t from = 0;
    std::string_view segment;
    friend bool operator==(const Edge&, const Edge&) = default;
  };
  struct EdgeHash {
    size_t operator()(const Edge& e) const {
      return std::hash<std::string_view>{}(e.segment) ^ (e.from * 0x9e3779b97f4a7c15u);
    }
  };
  struct TextHash {
    using is_transparent = void;
    size_t operator()(std::string_view s) const { return std::hash<std::string_view>{}(s); }
  };
  // What is configured for one host of one level.
  struct Root {
    uint32_t node = 0;
    uint32_t patterns = kNone;  // index of patterns_
  };
  // The routes of one priority.
  struct Level {
    uint32_t priority = 0;
    // "a.test" of an exact host, ".a.test" of the wildcard "*.a.test", "" of any host.
    std::unordered_map<std::string, Root, TextHash, std::equal_to<>> roots;
    size_t longest_wildcard = 0;  // with its leading dot; 0: there is none
  };
  struct Look {
    std::string_view host;
    std::string_view path;
    const Subject* subject;  // null: no condition holds
  };
  // Routes of one host and path, the first to look at first.
  using List = std::vector<uint32_t>;

  Result<void> build(const std::vector<RouteSettings>& settings);
  Level& level_of(uint32_t priority);
  Result<void> add(const Route& route);
  Root& root_of(Level& level, const std::string& host);
  Result<void> add_to(Root& root, const Route& route);
  void add_path(uint32_t node, const Route& route);
  uint32_t child(uint32_t node, std::string_view segment);
  Result<void> finish();

  const Route* match(const Look& look) const;
  const Route* match_level(const Level& level, const Look& look) const;
  const Route* match_host(const Level& level, std::string_view key, const Look& look) const;
  const Route* match_root(const Root& root, const Look& look) const;
  const Route* first_of(uint32_t list, const Look& look) const;
  static bool takes(const Route& route, const Look& look) {
    return route.conditions.empty() ||
           (look.subject != nullptr && route.conditions.hold(*look.subject));
  }

  std::vector<RouteSettings> own_;  // empty: they are somebody else's
  std::vector<Route> routes_;
  std::vector<Level> levels_;  // the highest priority first
  std::vector<PathNode> nodes_;
  std::vector<List> lists_;
  std::vector<std::unique_ptr<PatternSet>> patterns_;
  // Segments are views into the settings, which stay where they are.
  std::unordered_map<Edge, uint32_t, EdgeHash> edges_;
  size_t longest_segment_ = 0;
};

}  // namespace pqedge::route
