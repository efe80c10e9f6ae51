// Which addresses are asked only when that is configured.
#pragma once

#include <sys/socket.h>

namespace pqedge::jobs {

// Loopback, link-local, unspecified, multicast, broadcast, and all that is no IP address: what an
// address in a certificate or a redirect must not lead to. Private networks are not meant: internal
// authorities have their responders there.
bool is_local_address(const sockaddr* address);

}  // namespace pqedge::jobs
