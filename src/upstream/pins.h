// Backend connections that belong to one client connection, since they know its user (NTLM and
// Negotiate of RFC 4559 authenticate the connection, not the request).
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "base/intrusive_list.h"

namespace pqedge::upstream {

class Connection;
class Lease;
struct PinTag;

// One worker's.
class Pins {
 public:
  bool empty() const { return by_client_.empty(); }
  // Serves `lease` by an unused connection that belongs to its requester's client connection and
  // leads to a server of the pool. False: there is none; nothing was called.
  bool acquire(Lease& lease, std::string_view pool);
  // The client connection has ended: what belongs to it is closed.
  void forget_client(uint64_t client);

 private:
  friend class Connection;
  void add(Connection& connection, uint64_t client);
  void remove(Connection& connection, uint64_t client);

  std::unordered_map<uint64_t, IntrusiveList<Connection, PinTag>> by_client_;
};

}  // namespace pqedge::upstream
