// What a configuration says about a route's tunnels: WebSocket, other upgrades, and CONNECT.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace pqedge::route {

// One target that CONNECT may name.
struct ConnectTarget {
  std::string host;   // lower case: a name, "*.a.test" (one or more labels), an IP address without
                      // brackets, or "*" for every host
  uint16_t port = 0;  // 0: every port
  friend bool operator==(const ConnectTarget&, const ConnectTarget&) = default;
};

struct TunnelSettings {
  // Requests that ask for one of them are passed on to become tunnels; of others the Upgrade is
  // dropped (HTTP/1.1) or the request refused (HTTP/2 and 3).
  bool websocket = true;
  std::vector<std::string> upgrades;  // others, in lower case: "tcp", "spdy/3.1"

  // The route takes CONNECT for these targets, and nothing else. Its pool is what they are.
  std::vector<ConnectTarget> connect;

  Nanos timeout = 3600 * kSecond;  // of silence in both directions

  bool takes(std::string_view upgrade) const {
    if (upgrade == "websocket") return websocket;
    for (const std::string& each : upgrades) {
      if (each == upgrade) return true;
    }
    return false;
  }
};

// `host` in lower case, without brackets.
bool is_target(const ConnectTarget& target, std::string_view host, uint16_t port);

}  // namespace pqedge::route
