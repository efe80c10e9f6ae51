#include "route/validate.h"

#include <algorithm>
#include <format>
#include <map>
#include <set>

#include "base/arena.h"
#include "base/text.h"
#include "http/message.h"
#include "net/address.h"
#include "route/pattern.h"
#include "route/reachable.h"
#include "route/validate_forward.h"
#include "route/validate_shape.h"
#include "route/validate_tunnel.h"

namespace pqedge::route {
namespace {

constexpr uint32_t kMaxPriority = 1000;
constexpr size_t kMaxLevels = 16;

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
  const int actions = !route.pool.empty() + (route.answer_status != 0) + route.redirect_https +
                      !route.redirect.to.empty();
  if (actions == 0 && route.answer_body.empty()) {
    out.push_back({base, "says not what to do with a request",
                   "add pool = \"NAME\", status = 404, redirect, or redirect_to_https = true"});
  } else if (actions > 1) {
    out.push_back({base, "has more than one of pool, status, redirect and redirect_to_https",
                   "keep one; write a route for each"});
  }
  check_answer(route, base, out);
  if (route.redirect_https) {
    check_count(out, base + ".redirect_port", route.redirect_port, 1, 65535);
  }
}

std::string to_upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 0x20);
  }
  return out;
}

bool is_token(std::string_view text) {  // RFC 9110 5.6.2
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    const char l = ascii_lower(c);
    return (l >= 'a' && l <= 'z') || is_digit(c) ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

void check_methods(const RouteSettings& route, const std::string& base, Problems& out) {
  for (size_t i = 0; i < route.methods.size(); ++i) {
    const std::string key = entry_key(base + ".methods", i);
    const std::string& method = route.methods[i];
    if (!is_token(method)) {
      out.push_back({key, in_quotes(method) + " is no method", "write it as in \"GET\""});
    } else if (http::parse_method(method) == http::Method::other &&
               http::parse_method(to_upper(method)) != http::Method::other) {
      out.push_back({key, in_quotes(method) + " is no method that clients use",
                     "methods are case-sensitive: write " + in_quotes(to_upper(method))});
    } else if (std::find(route.methods.begin(), route.methods.begin() + static_cast<long>(i),
                         method) != route.methods.begin() + static_cast<long>(i)) {
      out.push_back({key, in_quotes(method) + " is there twice"});
    }
  }
}

void check_pattern(const std::string& key, const std::string& pattern, Problems& out) {
  if (auto compiled = Pattern::compile(pattern); !compiled) {
    out.push_back({key, compiled.error().message,
                   "see the syntax of RE2: no look-around and no back-references"});
  }
}

// `fields`: of header fields, else of parameters.
void check_values(const std::vector<ValueMatch>& matches, const std::string& list, bool fields,
                  Problems& out) {
  for (size_t i = 0; i < matches.size(); ++i) {
    const ValueMatch& match = matches[i];
    const std::string key = entry_key(list, i);
    if (fields && !is_token(match.name)) {
      out.push_back({key + ".name", in_quotes(match.name) + " is no name of a header field",
                     match.name.starts_with(':') ? "use hosts, path or methods" : ""});
    } else if (fields && iequals(match.name, "host")) {
      out.push_back({key + ".name", "the host is matched by hosts", "use hosts = [...]"});
    } else if (match.name.empty()) {
      out.push_back({key + ".name", "is empty", "name the parameter"});
    }
    if (match.kind == ValueMatch::Kind::regex) check_pattern(key + ".regex", match.value, out);
    if (match.kind == ValueMatch::Kind::prefix && match.value.empty()) {
      out.push_back({key + ".prefix", "is empty", "write present = true to take every value"});
    }
  }
}

void check_conditions(const RouteSettings& route, const std::string& base, Problems& out) {
  check_methods(route, base, out);
  check_values(route.headers, base + ".headers", true, out);
  check_values(route.query, base + ".query", false, out);
  if (!route.path_regex.empty()) check_pattern(base + ".path_regex", route.path_regex, out);
  const int paths = !route.path.empty() + !route.path_prefix.empty() + !route.path_regex.empty();
  if (paths > 1) {
    out.push_back({base, "has more than one of path, path_prefix and path_regex", "keep one"});
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

// A look-up goes through them one after the other.
void check_priorities(const std::vector<RouteSettings>& routes, Problems& out) {
  std::set<uint32_t> seen;
  for (size_t i = 0; i < routes.size(); ++i) {
    const uint32_t priority = routes[i].priority;
    const std::string key = entry_key("route", i, "priority");
    if (priority > kMaxPriority) {
      out.push_back({key, std::format("{} is too large", priority),
                     std::format("the most is {}", kMaxPriority)});
    } else if (seen.insert(priority).second && seen.size() == kMaxLevels + 1) {
      out.push_back({key, std::format("{} is the {}th different priority", priority, seen.size()),
                     std::format("use at most {} different ones", kMaxLevels)});
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
    check_path(base + ".path", route.path, out);
    check_path(base + ".path_prefix", route.path_prefix, out);
    check_conditions(route, base, out);
    check_action(route, base, out);
    check_shape(route, base, out);
    check_forward(route.forward, base, out);
    check_tunnel(route, base, out);
  }
  check_priorities(routes, out);
  check_reachable(routes, out);
  return out;
}

}  // namespace pqedge::route
