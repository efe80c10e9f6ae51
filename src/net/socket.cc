#include "net/socket.h"

#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/log.h"

namespace pqedge::net {
namespace {

bool set_int(int fd, int level, int option, int value) {
  return setsockopt(fd, level, option, &value, sizeof value) == 0;
}

int get_int(int fd, int level, int option) {
  int value = 0;
  socklen_t size = sizeof value;
  return getsockopt(fd, level, option, &value, &size) == 0 ? value : 0;
}

Result<Fd> make_socket(const Address& address, int type) {
  Fd fd(::socket(address.family(), type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return fail_errno(errno, "cannot open a socket for {}", address.to_string());
  return fd;
}

std::unexpected<Error> bind_error(int code, const Address& address) {
  if (code == EADDRINUSE) {
    return fail_errno(code, "cannot bind {}: another process uses this port", address.to_string());
  }
  if (code == EACCES && address.is_ip()) {
    return fail_errno(code, "cannot bind {}: ports below 1024 need CAP_NET_BIND_SERVICE",
                      address.to_string());
  }
  return fail_errno(code, "cannot bind {}", address.to_string());
}

std::string unix_path(const Address& address) { return address.to_string().substr(5); }

// Makes room for a Unix socket: removes a socket file that nobody listens on.
Result<void> clear_unix_path(const Address& address, bool remove) {
  const std::string path = unix_path(address);
  struct stat st;
  if (lstat(path.c_str(), &st) != 0) {
    if (errno == ENOENT) return {};
    return fail_errno(errno, "cannot look at {}", path);
  }
  if (!S_ISSOCK(st.st_mode)) return fail("{} exists and is not a socket; it is left alone", path);
  const Fd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!probe) return fail_errno(errno, "cannot open a socket to try {}", path);
  if (connect(probe.get(), address.data(), address.size()) == 0 || errno != ECONNREFUSED) {
    // EAGAIN: a full queue is a live listener; EACCES and EPROTOTYPE: not ours to remove.
    return fail("{} is in use by another process", path);
  }
  if (remove && unlink(path.c_str()) != 0 && errno != ENOENT) {
    return fail_errno(errno, "cannot remove the stale socket {}", path);
  }
  return {};
}

Result<Fd> listen_unix(const Address& address, const ListenOptions& options) {
  if (auto cleared = clear_unix_path(address, true); !cleared) {
    return std::unexpected(cleared.error());
  }
  auto fd = make_socket(address, SOCK_STREAM);
  if (!fd) return fd;
  // The file takes the mode of the socket (less the umask) from its first moment.
  if (options.unix_mode != 0 && fchmod(fd->get(), options.unix_mode) != 0) {
    return fail_errno(errno, "cannot set the mode of {}", address.to_string());
  }
  if (bind(fd->get(), address.data(), address.size()) != 0) return bind_error(errno, address);
  if (listen(fd->get(), options.backlog) != 0) {
    return fail_errno(errno, "cannot listen on {}", address.to_string());
  }
  return fd;
}

void ask_buffer(int fd, int forced, int plain, int bytes) {
  if (bytes > 0 && !set_int(fd, SOL_SOCKET, forced, bytes)) {
    set_int(fd, SOL_SOCKET, plain, bytes);  // cut down to net.core.{r,w}mem_max
  }
}

Result<void> set_udp_options(int fd, const Address& address) {
  const bool v6 = address.family() == AF_INET6;
  // A dual-stack IPv6 socket takes the IPv4 options too: they hold for its IPv4 packets. With PROBE
  // the don't-fragment bit is set and the kernel's idea of the path MTU is not looked at, which is
  // what RFC 9000 14 asks for.
  const bool v4_ok = set_int(fd, IPPROTO_IP, IP_RECVTOS, 1) &&
                     set_int(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE);
  const bool ok = v6 ? set_int(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1) &&
                           set_int(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, 1) &&
                           set_int(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE)
                     : v4_ok && set_int(fd, IPPROTO_IP, IP_PKTINFO, 1);
  if (!ok) return fail_errno(errno, "cannot set UDP options on {}", address.to_string());
  return {};
}

}  // namespace

Result<Fd> listen_stream(const Address& address, const ListenOptions& options) {
  if (address.is_unix()) return listen_unix(address, options);
  if (!address.is_ip()) return fail("cannot listen: no address");
  auto fd = make_socket(address, SOCK_STREAM);
  if (!fd) return fd;
  const int s = fd->get();
  // SO_REUSEADDR: connections of an earlier run in TIME_WAIT do not stand in the way.
  if (!set_int(s, SOL_SOCKET, SO_REUSEADDR, 1) ||
      (options.reuse_port && !set_int(s, SOL_SOCKET, SO_REUSEPORT, 1)) ||
      (address.family() == AF_INET6 && !set_int(s, IPPROTO_IPV6, IPV6_V6ONLY, options.v6_only)) ||
      !set_int(s, IPPROTO_TCP, TCP_NODELAY, 1)) {  // accepted sockets inherit it
    return fail_errno(errno, "cannot set options on {}", address.to_string());
  }
  if (bind(s, address.data(), address.size()) != 0) return bind_error(errno, address);
  if (listen(s, options.backlog) != 0) {
    return fail_errno(errno, "cannot listen on {}", address.to_string());
  }
  return fd;
}

Result<void> check_port_free(const Address& address, bool udp, bool v6_only) {
  if (address.is_unix()) return clear_unix_path(address, false);
  auto fd = make_socket(address, udp ? SOCK_DGRAM : SOCK_STREAM);
  if (!fd) return std::unexpected(fd.error());
  if (address.family() == AF_INET6) set_int(fd->get(), IPPROTO_IPV6, IPV6_V6ONLY, v6_only);
  // For TCP SO_REUSEADDR looks past TIME_WAIT, never past a listener. For UDP it would let two
  // sockets share the port.
  if (!udp) set_int(fd->get(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (bind(fd->get(), address.data(), address.size()) != 0) return bind_error(errno, address);
  return {};
}

Result<UdpSocket> adopt_udp(Fd fd, const Address& address, int receive_buffer, int send_buffer) {
  const int s = fd.get();
  if (auto set = set_udp_options(s, address); !set) return std::unexpected(set.error());
  UdpSocket socket;
  ask_buffer(s, SO_RCVBUFFORCE, SO_RCVBUF, receive_buffer);
  ask_buffer(s, SO_SNDBUFFORCE, SO_SNDBUF, send_buffer);
  // The kernel doubles what is asked, for its own overhead (socket(7)).
  socket.receive_buffer_asked = receive_buffer;
  socket.receive_buffer_granted = get_int(s, SOL_SOCKET, SO_RCVBUF) / 2;
  socket.send_buffer_granted = get_int(s, SOL_SOCKET, SO_SNDBUF) / 2;
  if (socket.receive_buffer_granted < receive_buffer) {
    log::warning("net", "{}: the UDP receive buffer is {} bytes, not {}: raise net.core.rmem_max",
                 address.to_string(), socket.receive_buffer_granted, receive_buffer);
  }
  set_int(s, SOL_SOCKET, SO_RXQ_OVFL, 1);
  socket.gro = set_int(s, SOL_UDP, UDP_GRO, 1);
  socket.gso = set_int(s, SOL_UDP, UDP_SEGMENT, 0);  // 0: none by default, asked a message
  socket.fd = std::move(fd);
  return socket;
}

Result<UdpSocket> bind_udp(const Address& address, const ListenOptions& options, int receive_buffer,
                           int send_buffer) {
  if (!address.is_ip()) return fail("cannot bind UDP to '{}'", address.to_string());
  auto fd = make_socket(address, SOCK_DGRAM);
  if (!fd) return std::unexpected(fd.error());
  const int s = fd->get();
  if ((options.reuse_port && !set_int(s, SOL_SOCKET, SO_REUSEPORT, 1)) ||
      (address.family() == AF_INET6 && !set_int(s, IPPROTO_IPV6, IPV6_V6ONLY, options.v6_only))) {
    return fail_errno(errno, "cannot set options on {}", address.to_string());
  }
  auto socket = adopt_udp(std::move(*fd), address, receive_buffer, send_buffer);
  if (socket && bind(s, address.data(), address.size()) != 0) return bind_error(errno, address);
  return socket;
}

Result<Fd> connect_stream(const Address& address) {
  if (!address.is_ip() && !address.is_unix()) return fail("cannot connect: no address");
  auto fd = make_socket(address, SOCK_STREAM);
  if (!fd) return fd;
  if (address.is_ip() && !set_int(fd->get(), IPPROTO_TCP, TCP_NODELAY, 1)) {
    return fail_errno(errno, "cannot set TCP_NODELAY");
  }
  // EAGAIN (a Unix listener with a full queue) is a failure: the kernel would not try again.
  // After EINTR it goes on by itself (POSIX, connect()).
  if (connect(fd->get(), address.data(), address.size()) != 0 && errno != EINPROGRESS &&
      errno != EINTR) {
    return fail_errno(errno, "cannot connect to {}", address.to_string());
  }
  return fd;
}

bool is_own_shortage(int code) {
  return code == EMFILE || code == ENFILE || code == ENOBUFS || code == ENOMEM || code == ENOSPC;
}

int socket_error(int fd) { return get_int(fd, SOL_SOCKET, SO_ERROR); }

Result<Address> local_address(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0) {
    return fail_errno(errno, "cannot read a socket's own address");
  }
  return Address::from_sockaddr(reinterpret_cast<const sockaddr*>(&storage), size);
}

Result<void> set_nodelay(int fd) {
  if (!set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1)) {
    return fail_errno(errno, "cannot set TCP_NODELAY");
  }
  return {};
}

uint64_t raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  if (limit.rlim_cur < limit.rlim_max) {
    const rlimit raised{limit.rlim_max, limit.rlim_max};
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0) return raised.rlim_cur;
  }
  return limit.rlim_cur;
}

}  // namespace pqedge::net
