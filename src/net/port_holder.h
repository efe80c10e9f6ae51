// Which process holds a port: for the message that says it is in use.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "net/address.h"

namespace pqedge::net {

struct PortHolder {
  pid_t pid = 0;
  std::string name;  // of the program, as in /proc/PID/comm
};

// Reads /proc. Empty where nobody holds the port, or where the holder belongs to another user and
// this process may not look.
std::optional<PortHolder> find_port_holder(const Address& address, bool udp);

}  // namespace pqedge::net
