#include "route/table.h"

#include <algorithm>

#include "route/validate.h"

namespace pqedge::route {
namespace {

// The key of roots_ for a host as it is configured.
std::string host_key(std::string_view host) {
  return to_lower(host.starts_with("*.") ? host.substr(1) : host);
}

}  // namespace

Result<Table> Table::compile(std::vector<RouteSettings> settings) {
  std::string message;
  for (const Problem& p : validate(settings)) {
    if (p.warning) continue;
    if (!message.empty()) message += '\n';
    message += p.key + ": " + p.what;
    if (!p.related.empty()) message += " (" + p.related + ")";
    if (!p.hint.empty()) message += "; " + p.hint;
  }
  if (!message.empty()) return std::unexpected(Error{std::move(message)});

  Table table;
  table.routes_.reserve(settings.size());
  for (RouteSettings& s : settings) {
    table.routes_.push_back({static_cast<uint32_t>(table.routes_.size()), std::move(s)});
  }
  for (const Route& route : table.routes_) table.add(route);
  return table;
}

void Table::add(const Route& route) {
  if (route.settings.hosts.empty()) {
    add_path(root_of(""), route);
    return;
  }
  for (const std::string& host : route.settings.hosts) {
    const std::string key = host_key(host);
    if (key.starts_with('.')) longest_wildcard_ = std::max(longest_wildcard_, key.size());
    add_path(root_of(key), route);
  }
}

uint32_t Table::root_of(const std::string& host) {
  const auto [it, added] = roots_.try_emplace(host, static_cast<uint32_t>(nodes_.size()));
  if (added) nodes_.emplace_back();
  return it->second;
}

uint32_t Table::child(uint32_t node, std::string_view segment) {
  const auto [it, added] =
      edges_.try_emplace(Edge{node, segment}, static_cast<uint32_t>(nodes_.size()));
  if (added) nodes_.emplace_back();
  longest_segment_ = std::max(longest_segment_, segment.size());
  return it->second;
}

void Table::add_path(uint32_t root, const Route& route) {
  const bool is_exact = !route.settings.path.empty();
  std::string_view rest = is_exact ? route.settings.path : route.settings.path_prefix;
  // "/a/" as a prefix is what is below "/a"; "/" and nothing are every path.
  const bool only_below = !is_exact && rest.size() > 1 && rest.ends_with('/');
  if (!is_exact && rest.ends_with('/')) rest.remove_suffix(1);

  uint32_t node = root;
  while (!rest.empty()) {
    rest.remove_prefix(1);  // the slash
    const std::string_view segment = rest.substr(0, rest.find('/'));
    node = child(node, segment);
    rest.remove_prefix(segment.size());
  }
  uint32_t& place = is_exact     ? nodes_[node].exact
                    : only_below ? nodes_[node].below
                                 : nodes_[node].prefix;
  if (place == kNone) place = route.index;  // the first keeps it where validate() only warned
}

uint32_t Table::match_path(uint32_t root, std::string_view path) const {
  uint32_t node = root;
  uint32_t best = nodes_[node].prefix;
  if (!path.starts_with('/')) return best;  // "*", or the empty path of CONNECT
  while (!path.empty()) {
    if (nodes_[node].below != kNone) best = nodes_[node].below;
    path.remove_prefix(1);  // the slash
    const std::string_view segment = path.substr(0, path.find('/'));
    if (segment.size() > longest_segment_) return best;
    const auto it = edges_.find(Edge{node, segment});
    if (it == edges_.end()) return best;
    node = it->second;
    if (nodes_[node].prefix != kNone) best = nodes_[node].prefix;
    path.remove_prefix(segment.size());
  }
  return nodes_[node].exact != kNone ? nodes_[node].exact : best;
}

uint32_t Table::match_host(std::string_view key, std::string_view path) const {
  const auto it = roots_.find(key);
  return it == roots_.end() ? kNone : match_path(it->second, path);
}

const Route* Table::match(std::string_view host, std::string_view path) const {
  // A host that begins with a dot would be taken for the key of a wildcard.
  uint32_t found = host.empty() || host.front() == '.' ? kNone : match_host(host, path);
  if (found == kNone && longest_wildcard_ > 0 && host.size() > 1) {
    // A suffix longer than any wildcard's cannot match; the star stands for at least one byte.
    size_t dot = host.size() > longest_wildcard_ ? host.size() - longest_wildcard_ : 1;
    while (found == kNone && (dot = host.find('.', dot)) != std::string_view::npos) {
      found = match_host(host.substr(dot), path);
      ++dot;
    }
  }
  if (found == kNone) found = match_host("", path);
  return found == kNone ? nullptr : &routes_[found];
}

}  // namespace pqedge::route
