// File descriptors and the socket options this product relies on.
#pragma once

#include <cstdint>

#include "base/fd.h"
#include "base/result.h"
#include "net/address.h"

namespace pqedge::net {

using pqedge::Fd;

struct ListenOptions {
  int backlog = 4096;
  bool reuse_port = true;  // one socket a worker (TCP and UDP)
  bool v6_only = false;    // [::] serves IPv4 too unless this is set
  uint32_t unix_mode = 0;  // permissions of a Unix socket's file (less the umask); 0: 0777
};

// A bound, listening, non-blocking TCP or Unix stream socket. A stale Unix socket file that nobody
// listens on is replaced; a live one, or another kind of file, is an error.
Result<Fd> listen_stream(const Address& address, const ListenOptions& options);

// Whether something else already listens where reuse_port would let us join silently: binds once
// without SO_REUSEPORT and closes again. For a Unix socket: whether its path can be taken.
Result<void> check_port_free(const Address& address, bool udp, bool v6_only = false);

struct UdpSocket {
  Fd fd;
  int receive_buffer_asked = 0;  // bytes
  int receive_buffer_granted = 0;
  int send_buffer_granted = 0;
  bool gro = false;  // UDP_GRO is on
  bool gso = false;  // UDP_SEGMENT is known to the kernel
};
// A bound non-blocking UDP socket with packet info (local address, ECN) and don't-fragment set.
Result<UdpSocket> bind_udp(const Address& address, const ListenOptions& options, int receive_buffer,
                           int send_buffer);

// The same for a UDP socket that somebody else has bound to `address` (see net/inherited.h).
Result<UdpSocket> adopt_udp(Fd fd, const Address& address, int receive_buffer, int send_buffer);

// Begins a non-blocking connect; the socket turns writable when it is done (SO_ERROR tells).
Result<Fd> connect_stream(const Address& address);
// Whether a socket could not be had or watched (ENOSPC) for want of something in this process or on
// this machine: it says nothing of the peer.
bool is_own_shortage(int code);
int socket_error(int fd);  // takes and clears SO_ERROR

Result<Address> local_address(int fd);
Result<void> set_nodelay(int fd);

// Raises RLIMIT_NOFILE's soft limit to the hard one; returns what is in force now.
uint64_t raise_descriptor_limit();

}  // namespace pqedge::net
