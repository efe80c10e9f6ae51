// What a configuration says about connections that are passed on without being decrypted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "net/address.h"

namespace pqedge::edge {

// How the connection IDs of a QUIC server are known by sight, so that a client is followed after
// its address changed.
struct ServerIdSettings {
  net::Address server;          // one of the pool's
  std::vector<uint8_t> prefix;  // every ID of it begins so; or
  // a server ID as in draft-ietf-quic-load-balancers, in plain text after the first octet
  std::vector<uint8_t> quic_lb;
  uint8_t rotation = 0;  // quic_lb: the value of the first octet's upper three bits, 0 to 6
};

struct PassthroughSettings {
  std::string name;                // the label in metrics and logs
  std::vector<std::string> hosts;  // "a.test", "*.a.test", as in a route
  std::string pool;
  std::vector<std::string> listeners;       // by name; empty: every listener with TLS
  bool tls = true;                          // over TCP
  bool quic = true;                         // over UDP, on listeners with "h3"
  Nanos idle_timeout = 300 * kSecond;       // TCP: no byte either way
  Nanos quic_idle_timeout = 120 * kSecond;  // no datagram either way; longer than the servers' own
  std::vector<ServerIdSettings> server_ids;
};

}  // namespace pqedge::edge
