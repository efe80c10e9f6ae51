#include "route/table.h"

#include <algorithm>

#include "route/pattern_set.h"
#include "route/validate.h"

namespace pqedge::route {
namespace {

// The key of Level::roots for a host as it is configured.
std::string host_key(std::string_view host) {
  return to_lower(host.starts_with("*.") ? host.substr(1) : host);
}

}  // namespace

Table::Table() = default;
Table::Table(Table&&) noexcept = default;
Table& Table::operator=(Table&&) noexcept = default;
Table::~Table() = default;

Result<Table> Table::compile(std::vector<RouteSettings> settings) {
  Table table;
  table.own_ = std::move(settings);
  if (auto built = table.build(table.own_); !built) return std::unexpected(built.error());
  return table;
}

Result<Table> Table::compile_over(const std::vector<RouteSettings>& settings) {
  Table table;
  if (auto built = table.build(settings); !built) return std::unexpected(built.error());
  return table;
}

Result<void> Table::build(const std::vector<RouteSettings>& settings) {
  std::string message;
  for (const Problem& p : validate(settings)) {
    if (p.warning) continue;
    if (!message.empty()) message += '\n';
    message += p.key + ": " + p.what;
    if (!p.related.empty()) message += " (" + p.related + ")";
    if (!p.hint.empty()) message += "; " + p.hint;
  }
  if (!message.empty()) return std::unexpected(Error{std::move(message)});

  routes_.reserve(settings.size());
  for (const RouteSettings& s : settings) {
    auto conditions = Conditions::compile(s);
    if (!conditions) return std::unexpected(conditions.error());
    routes_.push_back({static_cast<uint32_t>(routes_.size()), s, std::move(*conditions)});
  }
  for (const Route& route : routes_) {
    if (auto added = add(route); !added) return added;
  }
  return finish();
}

Table::Level& Table::level_of(uint32_t priority) {
  const auto at = std::ranges::lower_bound(levels_, priority, std::greater{}, &Level::priority);
  if (at != levels_.end() && at->priority == priority) return *at;
  return *levels_.insert(at, Level{.priority = priority});
}

Result<void> Table::add(const Route& route) {
  Level& level = level_of(route.settings.priority);
  if (route.settings.hosts.empty()) return add_to(root_of(level, ""), route);
  for (const std::string& host : route.settings.hosts) {
    const std::string key = host_key(host);
    if (key.starts_with('.')) level.longest_wildcard = std::max(level.longest_wildcard, key.size());
    if (auto added = add_to(root_of(level, key), route); !added) return added;
  }
  return {};
}

Table::Root& Table::root_of(Level& level, const std::string& host) {
  const auto [it, added] =
      level.roots.try_emplace(host, Root{.node = static_cast<uint32_t>(nodes_.size())});
  if (added) nodes_.emplace_back();
  return it->second;
}

Result<void> Table::add_to(Root& root, const Route& route) {
  if (route.settings.path_regex.empty()) {
    add_path(root.node, route);
    return {};
  }
  if (root.patterns == kNone) {
    root.patterns = static_cast<uint32_t>(patterns_.size());
    patterns_.push_back(std::make_unique<PatternSet>());
  }
  return patterns_[root.patterns]->add(route.settings.path_regex, route.index);
}

uint32_t Table::child(uint32_t node, std::string_view segment) {
  const auto [it, added] =
      edges_.try_emplace(Edge{node, segment}, static_cast<uint32_t>(nodes_.size()));
  if (added) nodes_.push_back({.parent = node});
  longest_segment_ = std::max(longest_segment_, segment.size());
  return it->second;
}

void Table::add_path(uint32_t node, const Route& route) {
  const bool is_exact = !route.settings.path.empty();
  std::string_view rest = is_exact ? route.settings.path : route.settings.path_prefix;
  // "/a/" as a prefix is what is below "/a"; "/" and nothing are every path.
  const bool only_below = !is_exact && rest.size() > 1 && rest.ends_with('/');
  if (!is_exact && rest.ends_with('/')) rest.remove_suffix(1);

  while (!rest.empty()) {
    rest.remove_prefix(1);  // the slash
    const std::string_view segment = rest.substr(0, rest.find('/'));
    node = child(node, segment);
    rest.remove_prefix(segment.size());
  }
  uint32_t& place = is_exact     ? nodes_[node].exact
                    : only_below ? nodes_[node].below
                                 : nodes_[node].prefix;
  if (place == kNone) {
    place = static_cast<uint32_t>(lists_.size());
    lists_.emplace_back();
  }
  lists_[place].push_back(route.index);
}

Result<void> Table::finish() {
  for (List& list : lists_) {
    std::ranges::stable_sort(list, std::greater{},
                             [this](uint32_t i) { return routes_[i].conditions.rank(); });
  }
  for (const auto& set : patterns_) {
    if (auto compiled = set->compile(); !compiled) return compiled;
  }
  return {};
}

// ---- the look-up --------------------------------------------------------------------------------

const Route* Table::first_of(uint32_t list, const Look& look) const {
  if (list == kNone) return nullptr;
  for (const uint32_t index : lists_[list]) {
    if (takes(routes_[index], look)) return &routes_[index];
  }
  return nullptr;
}

// Down the tree as far as the path goes, then up again until a route takes the request.
const Route* Table::match_root(const Root& root, const Look& look) const {
  uint32_t node = root.node;
  std::string_view rest = look.path;
  if (!rest.starts_with('/')) return first_of(nodes_[node].prefix, look);  // "*", or CONNECT's
  while (!rest.empty()) {
    const std::string_view segment = rest.substr(1, rest.find('/', 1) - 1);
    if (segment.size() > longest_segment_) break;
    const auto it = edges_.find(Edge{node, segment});
    if (it == edges_.end()) break;
    node = it->second;
    rest.remove_prefix(1 + segment.size());
  }
  const Route* found = rest.empty() ? first_of(nodes_[node].exact, look) : nullptr;
  if (found == nullptr && root.patterns != kNone) {
    patterns_[root.patterns]->any(look.path, [&](uint32_t index) {
      if (!takes(routes_[index], look)) return false;
      found = &routes_[index];
      return true;
    });
  }
  bool below = !rest.empty();
  for (; found == nullptr && node != kNone; node = nodes_[node].parent, below = true) {
    if (below) found = first_of(nodes_[node].below, look);
    if (found == nullptr) found = first_of(nodes_[node].prefix, look);
  }
  return found;
}

const Route* Table::match_host(const Level& level, std::string_view key, const Look& look) const {
  const auto it = level.roots.find(key);
  return it == level.roots.end() ? nullptr : match_root(it->second, look);
}

const Route* Table::match_level(const Level& level, const Look& look) const {
  const std::string_view host = look.host;
  // A host that begins with a dot would be taken for the key of a wildcard.
  const Route* found =
      host.empty() || host.front() == '.' ? nullptr : match_host(level, host, look);
  if (found == nullptr && level.longest_wildcard > 0 && host.size() > 1) {
    // A suffix longer than any wildcard's cannot match; the star stands for at least one byte.
    size_t dot = host.size() > level.longest_wildcard ? host.size() - level.longest_wildcard : 1;
    while (found == nullptr && (dot = host.find('.', dot)) != std::string_view::npos) {
      found = match_host(level, host.substr(dot), look);
      ++dot;
    }
  }
  return found != nullptr ? found : match_host(level, "", look);
}

const Route* Table::match(const Look& look) const {
  for (const Level& level : levels_) {
    if (const Route* found = match_level(level, look)) return found;
  }
  return nullptr;
}

}  // namespace pqedge::route
