// Sockets that the service manager has bound and passed on (systemd's socket activation,
// sd_listen_fds(3)): low ports without privileges, and a queue that outlives a restart.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "net/address.h"
#include "net/socket.h"

namespace pqedge::net {

struct InheritedSocket {
  Fd fd;  // non-blocking, closed on exec
  Address address;
  bool udp = false;
  std::string name;  // of the unit, or FileDescriptorName=; "unknown" when there is none
};

// What LISTEN_FDS names, when LISTEN_PID is this process; the variables are taken out of the
// environment, so that no child takes them for its own. Empty without socket activation. An error:
// a descriptor that is no listening stream socket and no UDP socket.
Result<std::vector<InheritedSocket>> take_inherited_sockets();

}  // namespace pqedge::net
