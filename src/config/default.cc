// The configuration that runs when no file is given.
#include <netinet/in.h>
#include <sys/socket.h>

#include "config/load.h"
#include "net/socket.h"

namespace pqedge::config {
namespace {

// Whether ::1 can be bound: a machine may have IPv6 off.
bool has_ip6_loopback() {
  const net::Fd fd(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return false;
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  return ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

std::vector<net::Address> loopback(uint16_t port, bool ip6) {
  std::vector<net::Address> out = {*net::Address::from_ip("127.0.0.1", port)};
  if (ip6) out.push_back(*net::Address::from_ip("::1", port));
  return out;
}

}  // namespace

Configuration default_configuration(uint16_t demo_backend_port, const DefaultPorts& ports) {
  const bool ip6 = has_ip6_loopback();
  Configuration c;
  edge::Settings& s = c.edge;
  s.source = "the embedded default";
  s.identity.tls_fields = true;  // the demonstration page shows them
  s.listeners.push_back({.name = "https", .addresses = loopback(ports.https, ip6)});
  s.listeners.push_back({.name = "http",
                         .addresses = loopback(ports.http, ip6),
                         .tls = false,
                         .http2 = false,
                         .http3 = false,
                         .redirect_to_https = true,
                         .redirect_port = ports.https});
  const net::Address backend = *net::Address::from_ip("127.0.0.1", demo_backend_port);
  upstream::PoolSettings pool;
  pool.name = "demo";
  pool.servers.push_back({backend, backend.to_string()});
  s.pools.push_back(std::move(pool));
  route::RouteSettings everything;
  everything.name = "demo";
  everything.pool = "demo";
  s.routes.push_back(std::move(everything));
  c.admin.listen.push_back(*net::Address::from_ip("127.0.0.1", ports.admin));
  return c;
}

}  // namespace pqedge::config
