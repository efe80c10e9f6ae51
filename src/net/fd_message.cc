#include "net/fd_message.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace pqedge::net {
namespace {

using ControlBuffer = std::array<char, CMSG_SPACE(kMaxMessageDescriptors * sizeof(int))>;

Result<void> wait_for(int fd, short events, Nanos deadline) {
  while (true) {
    const Nanos now = monotonic_now();
    if (now >= deadline) return fail_errno(ETIMEDOUT, "the other process does not answer");
    pollfd wait{fd, events, 0};
    const int ready = poll(&wait, 1, static_cast<int>((deadline - now) / kMillisecond + 1));
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return fail_errno(errno, "cannot wait for the other process");
  }
}

std::vector<Fd> take_descriptors(msghdr& header) {
  std::vector<Fd> taken;
  for (cmsghdr* c = CMSG_FIRSTHDR(&header); c != nullptr; c = CMSG_NXTHDR(&header, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
      taken.emplace_back(fd);
    }
  }
  return taken;
}

}  // namespace

Result<SocketPair> make_message_pair() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
    return fail_errno(errno, "cannot make a pair of sockets");
  }
  return SocketPair{Fd(ends[0]), Fd(ends[1])};
}

Result<void> send_message(int fd, Bytes bytes, std::span<const int> descriptors, Nanos timeout) {
  if (bytes.empty() || bytes.size() > kMaxMessageBytes ||
      descriptors.size() > kMaxMessageDescriptors) {
    return fail("a message of {} bytes and {} descriptors cannot be sent", bytes.size(),
                descriptors.size());
  }
  iovec part{const_cast<uint8_t*>(bytes.data()), bytes.size()};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  alignas(cmsghdr) ControlBuffer control{};
  if (!descriptors.empty()) {
    header.msg_control = control.data();
    header.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* c = CMSG_FIRSTHDR(&header);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(c), descriptors.data(), descriptors.size_bytes());
  }
  const Nanos deadline = monotonic_now() + timeout;
  while (sendmsg(fd, &header, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return fail_errno(errno, "cannot send to the other process");
    if (auto ok = wait_for(fd, POLLOUT, deadline); !ok) return ok;
  }
  return {};
}

Result<Message> receive_message(int fd, Nanos timeout) {
  std::array<uint8_t, kMaxMessageBytes> buffer;
  alignas(cmsghdr) ControlBuffer control{};
  const Nanos deadline = monotonic_now() + timeout;
  while (true) {
    iovec part{buffer.data(), buffer.size()};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    const ssize_t n = recvmsg(fd, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n >= 0) {
      Message message;
      message.descriptors = take_descriptors(header);
      message.bytes.assign(buffer.data(), buffer.data() + n);
      explicit_bzero(buffer.data(), buffer.size());  // it may have held keys
      if ((header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
        return fail("a message of the other process was cut: too many descriptors are open here");
      }
      return message;
    }
    if (errno == EINTR) continue;
    // The peer is gone, and what it had sent was lost with it.
    if (errno == ECONNRESET) return Message{};
    if (errno != EAGAIN) return fail_errno(errno, "cannot hear the other process");
    if (auto ok = wait_for(fd, POLLIN, deadline); !ok) return std::unexpected(ok.error());
  }
}

}  // namespace pqedge::net
