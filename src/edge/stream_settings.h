// What a configuration says about a listener without HTTP, whose connections and datagrams go
// straight to the servers of a pool.
#pragma once

#include <cstdint>
#include <string>

#include "base/time.h"

namespace pqedge::edge {

struct StreamSettings {
  std::string pool;                    // empty: the listener is one of HTTP
  Nanos idle_timeout = 600 * kSecond;  // TCP: no byte either way
  Nanos udp_timeout = 60 * kSecond;    // UDP: no datagram either way
  uint32_t udp_sessions = 10'000;      // clients of UDP at a time, in the process
};

}  // namespace pqedge::edge
