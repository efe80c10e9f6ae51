#include "measure/load/udp_socket.h"

#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "measure/load/tcp_stream.h"

namespace pqedge::measure::load {

namespace {

constexpr size_t kMessages = 8;             // received by one call
constexpr size_t kMessageRoom = 64 * 1024;  // of one: the kernel joins no more
constexpr int kReceiveBuffer = 2 * 1024 * 1024;

}  // namespace

Result<void> UdpSocket::connect(size_t local_turn) {
  socket_ = net::Fd(
      socket(context_.server.family(), SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_UDP));
  if (!socket_) return fail_errno(errno, "socket");
  const int fd = socket_.get();
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &kReceiveBuffer, sizeof(kReceiveBuffer));
  if (context_.options.gro) setsockopt(fd, IPPROTO_UDP, UDP_GRO, &on, sizeof(on));
  if (auto bound = bind_local(context_, fd, local_turn); !bound) return bound;
  if (::connect(fd, context_.server.data(), context_.server.size()) != 0) {
    return fail_errno(errno, "connect to {}", context_.server.to_string());
  }
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  local_ = net::Address::from_sockaddr(reinterpret_cast<sockaddr*>(&address), size);
  context_.buffer.resize(std::max(context_.buffer.size(), kMessages * kMessageRoom));
  return {};
}

int UdpSocket::receive_messages(std::vector<Message>& messages) {
  messages.clear();
  std::array<mmsghdr, kMessages> headers{};
  std::array<iovec, kMessages> vectors;
  struct alignas(cmsghdr) Control {
    std::array<char, CMSG_SPACE(sizeof(int))> bytes;
  };
  std::array<Control, kMessages> controls;
  for (size_t i = 0; i < kMessages; ++i) {
    vectors[i] = {context_.buffer.data() + i * kMessageRoom, kMessageRoom};
    headers[i].msg_hdr.msg_iov = &vectors[i];
    headers[i].msg_hdr.msg_iovlen = 1;
    headers[i].msg_hdr.msg_control = controls[i].bytes.data();
    headers[i].msg_hdr.msg_controllen = controls[i].bytes.size();
  }
  const int count = recvmmsg(socket_.get(), headers.data(), kMessages, MSG_DONTWAIT, nullptr);
  if (count < 0) return errno == EAGAIN || errno == EINTR ? 0 : errno;

  Traffic& traffic = context_.tally.traffic;
  ++traffic.receive_calls;
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    Message message{{context_.buffer.data() + i * kMessageRoom, headers[i].msg_len},
                    headers[i].msg_len};
    msghdr& header = headers[i].msg_hdr;
    for (cmsghdr* c = CMSG_FIRSTHDR(&header); c != nullptr; c = CMSG_NXTHDR(&header, c)) {
      if (c->cmsg_level != IPPROTO_UDP || c->cmsg_type != UDP_GRO) continue;
      int segment = 0;
      std::memcpy(&segment, CMSG_DATA(c), sizeof(segment));
      if (segment > 0) message.segment = static_cast<size_t>(segment);
    }
    if (message.segment < message.bytes.size()) ++traffic.gro_receives;
    traffic.bytes_received += message.bytes.size();
    messages.push_back(message);
  }
  return 0;
}

int UdpSocket::send(std::span<const uint8_t> bytes, size_t segment) {
  iovec vector{const_cast<uint8_t*>(bytes.data()), bytes.size()};
  msghdr header{};
  header.msg_iov = &vector;
  header.msg_iovlen = 1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(uint16_t))> control{};
  if (bytes.size() > segment) {
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    cmsghdr* c = CMSG_FIRSTHDR(&header);
    c->cmsg_level = IPPROTO_UDP;
    c->cmsg_type = UDP_SEGMENT;
    c->cmsg_len = CMSG_LEN(sizeof(uint16_t));
    const auto size = static_cast<uint16_t>(segment);
    std::memcpy(CMSG_DATA(c), &size, sizeof(size));
  }
  if (sendmsg(socket_.get(), &header, 0) < 0) return errno;

  Traffic& traffic = context_.tally.traffic;
  ++traffic.send_calls;
  traffic.datagrams_sent += (bytes.size() + segment - 1) / segment;
  traffic.bytes_sent += bytes.size();
  if (bytes.size() > segment) ++traffic.gso_sends;
  return 0;
}

}  // namespace pqedge::measure::load
