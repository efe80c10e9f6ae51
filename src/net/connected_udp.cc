#include "net/connected_udp.h"

#include <netinet/udp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace pqedge::net {
namespace {

// Room for the two control messages that a datagram may need.
struct alignas(cmsghdr) Control {
  template <typename T>
  void add(int level, int type, const T& value) {
    cmsghdr c{};
    c.cmsg_level = level;
    c.cmsg_type = type;
    c.cmsg_len = CMSG_LEN(sizeof value);
    std::memcpy(bytes + used, &c, sizeof c);
    std::memcpy(bytes + used + CMSG_LEN(0), &value, sizeof value);
    used += CMSG_SPACE(sizeof value);
  }
  size_t used = 0;
  uint8_t bytes[CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(uint16_t))] = {};
};

}  // namespace

Result<ConnectedUdp> ConnectedUdp::open(const Address& peer, int receive_buffer) {
  if (!peer.is_ip()) return fail("cannot reach {} over UDP", peer.to_string());
  Fd fd(::socket(peer.family(), SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return fail_errno(errno, "cannot open a UDP socket for {}", peer.to_string());
  setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
  auto socket = adopt_udp(std::move(fd), peer, 0, 0);
  if (!socket) return std::unexpected(socket.error());
  if (::connect(socket->fd.get(), peer.data(), peer.size()) != 0) {
    return fail_errno(errno, "cannot reach {} over UDP", peer.to_string());
  }
  const auto local = local_address(socket->fd.get());
  if (!local) return std::unexpected(local.error());
  return ConnectedUdp(std::move(*socket), *local, peer.family() == AF_INET6);
}

int ConnectedUdp::send_message(Bytes first, Bytes second, size_t segment, uint8_t ecn) const {
  iovec parts[2] = {{const_cast<uint8_t*>(first.data()), first.size()},
                    {const_cast<uint8_t*>(second.data()), second.size()}};
  Control control;
  if (ecn != 0) control.add(v6_ ? IPPROTO_IPV6 : IPPROTO_IP, v6_ ? IPV6_TCLASS : IP_TOS, int{ecn});
  if (segment != 0) control.add(SOL_UDP, UDP_SEGMENT, static_cast<uint16_t>(segment));
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = second.empty() ? 1 : 2;
  message.msg_control = control.used != 0 ? control.bytes : nullptr;
  message.msg_controllen = control.used;
  while (sendmsg(socket_.fd.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

int ConnectedUdp::send(Bytes bytes, size_t segment, uint8_t ecn) {
  segment = std::max<size_t>(segment, 1);
  if (bytes.size() > segment && socket_.gso) {
    const int code = send_message(bytes, {}, segment, ecn);
    if (code != EIO && code != EINVAL && code != EMSGSIZE) return code;
    socket_.gso = false;  // it can fail at send time: the route's device may have changed
  }
  int last = 0;
  while (!bytes.empty()) {
    const size_t n = std::min(segment, bytes.size());
    if (const int code = send_message(bytes.first(n), {}, 0, ecn); code != 0) last = code;
    bytes = bytes.subspan(n);
  }
  return last;
}

void ConnectedUdp::set_fragmenting(bool allowed) const {
  const int four = allowed ? IP_PMTUDISC_DONT : IP_PMTUDISC_PROBE;
  const int six = allowed ? IPV6_PMTUDISC_DONT : IPV6_PMTUDISC_PROBE;
  setsockopt(socket_.fd.get(), v6_ ? IPPROTO_IPV6 : IPPROTO_IP,
             v6_ ? IPV6_MTU_DISCOVER : IP_MTU_DISCOVER, v6_ ? &six : &four, sizeof four);
}

int ConnectedUdp::send_joined(Bytes first, Bytes second, uint8_t ecn) {
  int code = send_message(first, second, 0, ecn);
  if (code != EMSGSIZE) return code;
  set_fragmenting(true);
  code = send_message(first, second, 0, ecn);
  set_fragmenting(false);
  return code;
}

}  // namespace pqedge::net
