// What of the network's settings decides how bytes become packets and flights (M10, M18).
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "measure/record/record.h"

namespace pqedge::measure {

// The route that the kernel would take to an address now.
struct RouteFacts {
  std::string interface;
  std::optional<unsigned> mtu;             // of the route; none: the interface's
  std::optional<unsigned> initial_window;  // `ip route ... initcwnd`; none: Linux's default, 10
  std::string congestion_control;          // `ip route ... congctl`; empty: the system's
};
// `address` as text, IPv4 or IPv6.
Result<RouteFacts> route_to(const std::string& address);

// Linux sends 10 segments at first where no route says otherwise (RFC 6928, TCP_INIT_CWND).
inline constexpr unsigned kLinuxInitialWindow = 10;

// Of this network namespace. Offloads are "on" or "off" by the names of ethtool(8): "rx", "tx" (the
// checksums), "sg", "tso", "gso", "gro", "lro", "tx-udp-segmentation", "rx-gro-hw",
// "rx-udp-gro-forwarding"; one that cannot be asked is left out. The initial window is that of the
// routes over the interface when all agree, else absent.
Result<NetworkFacts> network_facts(const std::string& interface);

// The same toward a peer: interface, initial window and congestion control as the route says.
Result<NetworkFacts> network_facts_to(const std::string& address);

}  // namespace pqedge::measure
