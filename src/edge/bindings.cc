#include "edge/bindings.h"

#include <format>

#include "net/port_holder.h"
#include "net/socket.h"

namespace pqedge::edge {

std::vector<Binding> bindings(const Settings& settings) {
  std::vector<Binding> all;
  for (const ListenerSettings& l : settings.listeners) {
    for (const net::Address& a : l.addresses) all.push_back({a, &l});
  }
  return all;
}

Result<void> check_free(const Binding& b, bool udp) {
  if (!b.address.is_ip() || b.address.port() == 0) return {};
  const auto free = net::check_port_free(b.address, udp, b.listener->v6_only);
  if (free) return {};
  const auto holder = net::find_port_holder(b.address, udp);
  return fail("listener '{}': {}{}", b.listener->name, free.error().message,
              holder ? std::format(" (held by {}, process {})", holder->name, holder->pid) : "");
}

bool held_by_pqedge(const net::Address& address) {
  const auto holder = net::find_port_holder(address, false);
  return holder && holder->name == "pqedge";
}

}  // namespace pqedge::edge
