// Which route takes a request: compiled once a configuration, looked up without side effects.
//
// Of the routes whose host and path both match, the one with the most specific host wins: an exact
// host before a wildcard, a longer wildcard before a shorter one, any host last. Among routes of
// the same host an exact path wins, then the longest prefix. The order of the file decides nothing:
// two routes with the same host and path are refused by validate().
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "http/message.h"
#include "route/settings.h"

namespace pqedge::route {

struct Route {
  uint32_t index = 0;  // its place in the configuration, from 0
  RouteSettings settings;
};

// Immutable. Safe to share between workers.
class Table {
 public:
  Table() = default;  // no route at all
  Table(Table&&) = default;
  Table& operator=(Table&&) = default;

  // Refuses what validate() (validate.h) refuses; the message has one problem a line.
  static Result<Table> compile(std::vector<RouteSettings> settings);

  // Looks at request.host and request.path, as canonicalise() set them. Null: no route. Takes time
  // by the labels of the host and the segments of the path that configured routes share, not by the
  // number of routes. Allocates nothing.
  const Route* match(const http::Request& request) const {
    return match(request.host, request.path);
  }
  const Route* match(std::string_view host, std::string_view path) const;

  const std::vector<Route>& routes() const { return routes_; }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  // A place in the tree of path segments of one host. The values are indices of routes.
  struct PathNode {
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

  void add(const Route& route);
  uint32_t root_of(const std::string& host);
  void add_path(uint32_t root, const Route& route);
  uint32_t child(uint32_t node, std::string_view segment);
  uint32_t match_path(uint32_t root, std::string_view path) const;
  uint32_t match_host(std::string_view key, std::string_view path) const;

  std::vector<Route> routes_;
  std::vector<PathNode> nodes_;
  // Segments are views into routes_, whose elements stay where they are.
  std::unordered_map<Edge, uint32_t, EdgeHash> edges_;
  // Root nodes: "a.test" of an exact host, ".a.test" of the wildcard "*.a.test", "" of any host.
  std::unordered_map<std::string, uint32_t, TextHash, std::equal_to<>> roots_;
  size_t longest_segment_ = 0;
  size_t longest_wildcard_ = 0;  // with its leading dot; 0: there is none
};

}  // namespace pqedge::route
