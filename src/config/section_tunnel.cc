// What a route says of tunnels: upgrades, CONNECT, and how long one may be silent.
#include "base/text.h"
#include "config/section_readers.h"

namespace pqedge::config {
namespace {

// "db.test:5432", "*.a.test:22", "[2001:db8::1]:443", "10.0.0.7:*", "*:443".
bool parse_target(std::string_view text, route::ConnectTarget& out) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  const std::string_view port = text.substr(colon + 1);
  if (port != "*") {
    const auto number = parse_decimal(port);
    if (!number || *number == 0 || *number > UINT16_MAX) return false;
    out.port = static_cast<uint16_t>(*number);
  }
  std::string_view host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
    const auto address = net::Address::from_ip(host, 0);
    if (!address || address->family() != AF_INET6) return false;
    out.host = address->ip();
    return true;
  }
  out.host = to_lower(host);
  return !host.contains(':');
}

}  // namespace

void read_route_tunnel(Table& t, route::RouteSettings& s) {
  route::TunnelSettings& tunnel = s.tunnel;
  if (t.has("upgrades")) tunnel.websocket = false;
  t.each_string("upgrades", [&](const std::string&, const std::string& text) {
    const std::string protocol = to_lower(text);
    if (protocol == "websocket") {
      tunnel.websocket = true;
    } else {
      tunnel.upgrades.push_back(protocol);
    }
  });
  t.each_string("connect", [&](const std::string& path, const std::string& text) {
    route::ConnectTarget target;
    if (parse_target(text, target)) {
      tunnel.connect.push_back(target);
    } else {
      t.problem(path, in_quotes(text) + " is no target of CONNECT",
                "write \"db.test:5432\", \"*.a.test:22\", \"[2001:db8::1]:443\"; * is any port");
    }
  });
  t.duration("tunnel_timeout", tunnel.timeout);
  if (t.has("connect") && !t.has("methods")) s.methods = {"CONNECT"};
  if (t.has("upgrades") && t.has("connect")) {
    t.problem(t.key_path("upgrades"),
              "has no effect beside connect: such a route takes CONNECT alone");
  }
}

}  // namespace pqedge::config
