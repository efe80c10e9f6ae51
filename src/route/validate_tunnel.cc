#include "route/validate_tunnel.h"

#include <algorithm>

#include "http/names.h"
#include "route/validate.h"

namespace pqedge::route {
namespace {

// Of these a proxy must not become a blind one: what they are is not bytes between two ends, or is
// HTTP again, past every rule of the route.
bool is_other_http(std::string_view protocol) {
  constexpr std::string_view kRefused[] = {"h2",          "h2c",        "h3",          "tls",
                                           "connect-udp", "connect-ip", "webtransport"};
  const std::string_view name = protocol.substr(0, protocol.find('/'));
  return name == "http" || std::ranges::contains(kRefused, name);
}

bool is_protocol(std::string_view text) {
  const size_t slash = text.find('/');
  return http::is_token(text.substr(0, slash)) &&
         (slash == std::string_view::npos || http::is_token(text.substr(slash + 1)));
}

void check_upgrades(const TunnelSettings& tunnel, const std::string& base, Problems& out) {
  const std::string key = base + ".upgrades";
  for (const std::string& protocol : tunnel.upgrades) {
    if (!is_protocol(protocol)) {
      out.push_back({key, in_quotes(protocol) + " is no name of a protocol",
                     "write it as in the Upgrade field: \"websocket\", \"spdy/3.1\""});
    } else if (is_other_http(protocol)) {
      out.push_back({key, in_quotes(protocol) + " cannot be passed on by an upgrade",
                     "requests inside it would pass every rule of the route unseen"});
    }
  }
}

// A route that takes CONNECT matches by its targets, and by who the client is.
void check_connect(const RouteSettings& route, const std::string& base, Problems& out) {
  const std::string key = base + ".connect";
  const auto no_place = [&](const char* member) {
    out.push_back({base + "." + member, "has no place in a route with connect",
                   "its requests have a target alone: the route is chosen by it"});
  };
  if (route.pool.empty()) {
    out.push_back(
        {key, "needs a pool: its servers are what the target names", "add pool = \"NAME\""});
  }
  if (!route.hosts.empty()) no_place("hosts");
  if (!route.path.empty()) no_place("path");
  if (!route.path_prefix.empty()) no_place("path_prefix");
  if (!route.path_regex.empty()) no_place("path_regex");
  if (!route.query.empty()) no_place("query");
  if (!route.rewrite.empty()) no_place("rewrite");
  if (route.methods != std::vector<std::string>{"CONNECT"}) no_place("methods");
  for (size_t i = 0; i < route.tunnel.connect.size(); ++i) {
    const ConnectTarget& target = route.tunnel.connect[i];
    const bool literal = net::Address::from_ip(target.host, 0).has_value();
    if (target.host != "*" && !literal && !is_host_pattern(target.host, true)) {
      out.push_back({entry_key(key, i), in_quotes(target.host) + " is not a host"});
    }
    const auto before = route.tunnel.connect.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find(route.tunnel.connect.begin(), before, target) != before) {
      out.push_back({entry_key(key, i), "is there twice"});
    }
  }
}

}  // namespace

void check_tunnel(const RouteSettings& route, const std::string& base, Problems& out) {
  check_duration(out, base + ".tunnel_timeout", route.tunnel.timeout, kSecond, 7 * 86400 * kSecond);
  check_upgrades(route.tunnel, base, out);
  if (!route.tunnel.upgrades.empty() && route.pool.empty()) {
    out.push_back({base + ".upgrades", "has no effect without a pool"});
  }
  if (!route.tunnel.connect.empty()) {
    check_connect(route, base, out);
  } else if (std::ranges::contains(route.methods, "CONNECT")) {
    out.push_back({base + ".methods", "has \"CONNECT\", and the route names no target of it",
                   "add connect = [\"HOST:PORT\"]"});
  }
}

}  // namespace pqedge::route
