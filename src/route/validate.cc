#include "route/validate.h"

#include <algorithm>
#include <format>
#include <map>
#include <set>

#include "base/arena.h"
#include "base/text.h"
#include "http/message.h"
#include "net/address.h"

namespace pqedge::route {
namespace {

// A dot-separated list of labels of letters, digits, '-' and '_', as clients send host names
// (RFC 1123 2.1, with the underscore that is in use).
bool is_host_name(std::string_view name) {
  if (name.empty() || name.size() > 253) return false;
  while (true) {
    const std::string_view label = name.substr(0, name.find('.'));
    const auto allowed = [](char c) {
      const char l = ascii_lower(c);
      return (l >= 'a' && l <= 'z') || is_digit(c) || c == '-' || c == '_';
    };
    if (label.empty() || label.size() > 63 || !std::ranges::all_of(label, allowed)) return false;
    if (label.size() == name.size()) return true;
    name.remove_prefix(label.size() + 1);
  }
}

std::string host_hint(std::string_view host) {
  if (host.empty()) return "leave hosts out to take every host";
  if (host == "*") return "leave hosts out to take every host";
  if (host.contains("://") || host.contains('/')) return "write the host alone, as in \"a.test\"";
  if (host.contains('*')) return "a wildcard stands for whole first labels, as in \"*.a.test\"";
  if (host.ends_with('.')) return "write it without the dot at its end";
  if (host.contains(':')) return "write it without a port; an IPv6 address stands in brackets";
  return "use letters, digits, '-' and '_' between dots; other letters in their xn-- form";
}

void check_path(const std::string& key, std::string_view path, Problems& out) {
  if (path.empty()) return;
  if (!path.starts_with('/')) {
    out.push_back({key, in_quotes(path) + " does not begin with \"/\"",
                   "write \"/" + std::string(path.substr(0, 200)) + "\""});
    return;
  }
  if (path.find_first_of("?#") != std::string_view::npos) {
    out.push_back(
        {key, in_quotes(path) + " has a query or fragment", "routes look at the path alone"});
    return;
  }
  Arena arena;
  const auto canonical = http::canonical_path(path, arena);
  if (!canonical) {
    out.push_back({key, in_quotes(path) + " is a path that no request can have: " +
                            std::string(canonical.error().reason)});
  } else if (*canonical != path) {
    out.push_back({key, in_quotes(path) + " is not in canonical form, so no request would match",
                   "write " + in_quotes(*canonical)});
  }
}

void check_answer(const RouteSettings& route, const std::string& base, Problems& out) {
  if (!route.answer_body.empty() && route.answer_status == 0) {
    out.push_back({base + ".body", "has no effect without status", "add status = 200"});
  }
  if (route.answer_status == 0) return;
  if (route.answer_status < 200 || route.answer_status > 599) {
    out.push_back({base + ".status", std::format("{} is not a final status", route.answer_status),
                   "it may be 200 to 599"});
  } else if (!route.answer_body.empty() &&
             !http::response_has_body(http::Method::get, route.answer_status)) {
    out.push_back(
        {base + ".body", std::format("an answer with status {} has no body", route.answer_status)});
  }
}

void check_action(const RouteSettings& route, const std::string& base, Problems& out) {
  const int actions = !route.pool.empty() + (route.answer_status != 0) + route.redirect_https;
  if (actions == 0 && route.answer_body.empty()) {
    out.push_back({base, "says not what to do with a request",
                   "add pool = \"NAME\", status = 404, or redirect_to_https = true"});
  } else if (actions > 1) {
    out.push_back({base, "has more than one of pool, status and redirect_to_https",
                   "keep one; write a route for each"});
  }
  check_answer(route, base, out);
  if (route.redirect_https) {
    check_count(out, base + ".redirect_port", route.redirect_port, 1, 65535);
  }
}

void check_names(const std::vector<RouteSettings>& routes, Problems& out) {
  std::map<std::string_view, size_t> seen;
  for (size_t i = 0; i < routes.size(); ++i) {
    const std::string key = entry_key("route", i, "name");
    check_label(out, key, routes[i].name);
    const auto [it, added] = seen.try_emplace(routes[i].name, i);
    if (!added && !routes[i].name.empty()) {
      out.push_back({key, in_quotes(routes[i].name) + " is the name of another route", "",
                     entry_key("route", it->second)});
    }
  }
}

// What one route takes of one host: equal keys take the same requests.
std::string claim(const std::string& host, const RouteSettings& route) {
  const bool exact = !route.path.empty();
  const std::string& path = exact ? route.path : route.path_prefix;
  return to_lower(host) + (exact ? "\n=" : "\n^") + (!exact && path == "/" ? "" : path);
}

// Specificity decides between routes, so an earlier route takes all that a later one would match
// exactly when each host of the later one is there with the same path.
void check_reachable(const std::vector<RouteSettings>& routes, Problems& out) {
  std::map<std::string, size_t> owners;
  for (size_t i = 0; i < routes.size(); ++i) {
    const std::vector<std::string> any = {""};
    const auto& hosts = routes[i].hosts.empty() ? any : routes[i].hosts;
    size_t taken = 0;
    size_t taken_host = 0;
    size_t owner = 0;
    for (size_t h = 0; h < hosts.size(); ++h) {
      const auto [it, added] = owners.try_emplace(claim(hosts[h], routes[i]), i);
      if (added || it->second == i) continue;
      ++taken;
      taken_host = h;
      owner = it->second;
    }
    if (taken == 0) continue;
    const std::string by =
        std::format("taken by the earlier route {}", in_quotes(routes[owner].name));
    if (taken == hosts.size()) {
      out.push_back({entry_key("route", i),
                     "can never be reached: every request it would match is " + by,
                     "remove one of the two, or give them different hosts or paths",
                     entry_key("route", owner)});
    } else {
      out.push_back(
          {entry_key(entry_key("route", i, "hosts"), taken_host),
           std::format("{} has no effect: its requests are {}", in_quotes(hosts[taken_host]), by),
           "", entry_key("route", owner), true});
    }
  }
}

}  // namespace

bool is_host_pattern(std::string_view host, bool allow_wildcard) {
  if (host.starts_with('[')) {
    return host.ends_with(']') && host.contains(':') &&
           net::Address::from_ip(host.substr(1, host.size() - 2), 0).has_value();
  }
  if (allow_wildcard && host.starts_with("*.")) host.remove_prefix(2);
  return is_host_name(host);
}

void check_host_list(const std::vector<std::string>& hosts, const std::string& key, Problems& out) {
  std::set<std::string> seen;
  for (size_t h = 0; h < hosts.size(); ++h) {
    const std::string& host = hosts[h];
    if (!is_host_pattern(host, true)) {
      out.push_back({entry_key(key, h), in_quotes(host) + " is not a host", host_hint(host)});
    } else if (!seen.insert(to_lower(host)).second) {
      out.push_back({entry_key(key, h), in_quotes(host) + " is there twice"});
    }
  }
}

Problems validate(const std::vector<RouteSettings>& routes) {
  Problems out;
  check_names(routes, out);
  for (size_t i = 0; i < routes.size(); ++i) {
    const RouteSettings& route = routes[i];
    const std::string base = entry_key("route", i);
    check_host_list(route.hosts, entry_key("route", i, "hosts"), out);
    if (!route.path.empty() && !route.path_prefix.empty()) {
      out.push_back({base, "has both path and path_prefix", "keep one"});
    }
    check_path(base + ".path", route.path, out);
    check_path(base + ".path_prefix", route.path_prefix, out);
    check_action(route, base, out);
  }
  check_reachable(routes, out);
  return out;
}

}  // namespace pqedge::route
