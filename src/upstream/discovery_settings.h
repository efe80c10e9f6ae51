// Where the servers of a pool come from beside its configuration.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "net/address.h"

namespace pqedge::upstream {

struct DiscoverySettings {
  enum class Kind : uint8_t {
    off,
    addresses,  // A and AAAA of `name`, all with `port`
    srv,        // SRV of `name` (RFC 2782): targets, ports, weights and priorities
    file,       // a list that is watched (upstream/server_list.h)
  };
  Kind kind = Kind::off;
  std::string name;  // to be looked up
  uint16_t port = 0;
  std::string file;
  std::vector<net::Address> resolvers;  // empty: those of /etc/resolv.conf
  Nanos min_ttl = 1 * kSecond;          // asked again not sooner,
  Nanos max_ttl = 60 * kSecond;         // and not later
  Nanos timeout = 2 * kSecond;          // of one question to one resolver; asked twice
  friend bool operator==(const DiscoverySettings&, const DiscoverySettings&) = default;
};

// Servers of one pool, from wherever they come. More are refused.
inline constexpr size_t kMaxServers = 4096;

}  // namespace pqedge::upstream
