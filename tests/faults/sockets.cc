// Sockets and epoll.
//
// A program with edge-triggered readiness may believe that a call which took or gave less than was
// asked has met the end of what there is, and that an event follows. Where such a call was cut
// here, the descriptor is armed again: the kernel then tells of what is still there, as it would.
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>

#include "faults/control.h"

namespace faults {
namespace {

constexpr size_t kDescriptors = 65536;
constexpr size_t kParts = 128;

// What each descriptor is watched for, and by which epoll instance (its descriptor + 1; 0: none).
constinit std::array<std::atomic<int>, kDescriptors> epoll_of{};
constinit std::array<epoll_event, kDescriptors> event_of{};

void note_watched(int epoll, int operation, int fd, const epoll_event* event) {
  if (fd < 0 || static_cast<size_t>(fd) >= kDescriptors) return;
  const auto at = static_cast<size_t>(fd);
  if (operation == EPOLL_CTL_DEL) {
    epoll_of[at].store(0, std::memory_order_release);
    return;
  }
  event_of[at] = *event;
  epoll_of[at].store(epoll + 1, std::memory_order_release);
}

void arm_again(int fd) {
  if (fd < 0 || static_cast<size_t>(fd) >= kDescriptors) return;
  const int epoll = epoll_of[static_cast<size_t>(fd)].load(std::memory_order_acquire) - 1;
  if (epoll < 0) return;
  const int before = errno;
  epoll_event event = event_of[static_cast<size_t>(fd)];
  ::syscall(SYS_epoll_ctl, epoll, EPOLL_CTL_MOD, fd, &event);
  errno = before;
}

long failed(int fd, const Fault& fault) {
  if (fault.error == EAGAIN) arm_again(fd);
  errno = fault.error;
  return -1;
}

// The first `most` bytes of a message's parts.
struct Cut {
  Cut(const msghdr& whole, size_t most) : message(whole) {
    size_t count = 0;
    for (; count < std::min<size_t>(whole.msg_iovlen, kParts) && most > 0; ++count) {
      parts[count] = whole.msg_iov[count];
      parts[count].iov_len = std::min(parts[count].iov_len, most);
      most -= parts[count].iov_len;
    }
    message.msg_iov = parts;
    message.msg_iovlen = count;
  }
  iovec parts[kParts];
  msghdr message;
};

bool is_stream(int fd) {
  int type = 0;
  socklen_t size = sizeof type;
  return ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM;
}

long send_message(int fd, const msghdr* message, int flags) {
  const Fault f = ask(Call::send, fd, message);
  if (f.error != 0) return failed(fd, f);
  if (f.most == 0 || !is_stream(fd)) return ::syscall(SYS_sendmsg, fd, message, flags);
  const Cut cut(*message, f.most);
  const long n = ::syscall(SYS_sendmsg, fd, &cut.message, flags);
  arm_again(fd);
  return n;
}

long receive_message(int fd, msghdr* message, int flags) {
  const Fault f = ask(Call::recv, fd);
  if (f.error != 0) return failed(fd, f);
  if (f.most == 0 || !is_stream(fd)) return ::syscall(SYS_recvmsg, fd, message, flags);
  Cut cut(*message, f.most);
  const long n = ::syscall(SYS_recvmsg, fd, &cut.message, flags);
  arm_again(fd);
  return n;
}

}  // namespace
}  // namespace faults

using namespace faults;

extern "C" {

int socket(int domain, int type, int protocol) noexcept {
  if (const Fault f = ask(Call::socket)) return static_cast<int>(failed(-1, f));
  return static_cast<int>(::syscall(SYS_socket, domain, type, protocol));
}

int accept4(int fd, sockaddr* address, socklen_t* size, int flags) {
  if (const Fault f = ask(Call::accept, fd)) return static_cast<int>(failed(-1, f));
  return static_cast<int>(::syscall(SYS_accept4, fd, address, size, flags));
}

int connect(int fd, const sockaddr* address, socklen_t size) {
  const Fault f = ask(Call::connect, fd);
  if (f.error != 0 && !f.after) return static_cast<int>(failed(-1, f));
  const auto done = static_cast<int>(::syscall(SYS_connect, fd, address, size));
  if (f.error == 0) return done;
  errno = f.error;
  return -1;
}

int epoll_create1(int flags) noexcept {
  if (const Fault f = ask(Call::epoll_create)) return static_cast<int>(failed(-1, f));
  return static_cast<int>(::syscall(SYS_epoll_create1, flags));
}

int epoll_ctl(int epoll, int operation, int fd, epoll_event* event) noexcept {
  if (operation != EPOLL_CTL_DEL) {
    if (const Fault f = ask(Call::epoll_ctl, fd)) return static_cast<int>(failed(-1, f));
  }
  note_watched(epoll, operation, fd, event);
  return static_cast<int>(::syscall(SYS_epoll_ctl, epoll, operation, fd, event));
}

int epoll_wait(int epoll, epoll_event* events, int most, int milliseconds) {
  if (const Fault f = ask(Call::epoll_wait)) return static_cast<int>(failed(-1, f));
  return static_cast<int>(
      ::syscall(SYS_epoll_pwait, epoll, events, most, milliseconds, nullptr, size_t{8}));
}

int eventfd(unsigned int value, int flags) noexcept {
  if (const Fault f = ask(Call::eventfd)) return static_cast<int>(failed(-1, f));
  return static_cast<int>(::syscall(SYS_eventfd2, value, flags));
}

ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  return send_message(fd, message, flags);
}

ssize_t sendto(int fd, const void* bytes, size_t size, int flags, const sockaddr* to,
               socklen_t to_size) {
  iovec part{const_cast<void*>(bytes), size};
  msghdr message{};
  message.msg_name = const_cast<sockaddr*>(to);
  message.msg_namelen = to_size;
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  return send_message(fd, &message, flags);
}

ssize_t send(int fd, const void* bytes, size_t size, int flags) {
  return sendto(fd, bytes, size, flags, nullptr, 0);
}

// As the kernel does it: messages before one that fails are sent, and their number is the result. A
// message that is of another kind than the first is left to the next call, which is asked about it.
int sendmmsg(int fd, mmsghdr* messages, unsigned int count, int flags) {
  if (count != 0 && has_rules(Call::sendmmsg)) {
    const bool gso = asks_for_gso(messages[0].msg_hdr);
    if (const Fault f = ask(Call::sendmmsg, fd, &messages[0].msg_hdr)) {
      if (f.error != 0) return static_cast<int>(failed(fd, f));
      count = std::min(count, static_cast<unsigned int>(f.most));
    }
    for (unsigned int i = 1; i < count; ++i) {
      if (asks_for_gso(messages[i].msg_hdr) != gso) count = i;
    }
  }
  return static_cast<int>(::syscall(SYS_sendmmsg, fd, messages, count, flags));
}

ssize_t recvmsg(int fd, msghdr* message, int flags) { return receive_message(fd, message, flags); }

ssize_t recvfrom(int fd, void* into, size_t size, int flags, sockaddr* from, socklen_t* from_size) {
  const Fault f = ask(Call::recv, fd);
  if (f.error != 0) return failed(fd, f);
  const bool cut = f.most != 0 && is_stream(fd);
  if (cut) size = std::min(size, f.most);
  const ssize_t n = ::syscall(SYS_recvfrom, fd, into, size, flags, from, from_size);
  if (cut) arm_again(fd);
  return n;
}

ssize_t recv(int fd, void* into, size_t size, int flags) {
  return recvfrom(fd, into, size, flags, nullptr, nullptr);
}

// With _FORTIFY_SOURCE the compiler calls these.
ssize_t __recv_chk(int fd, void* into, size_t size, size_t, int flags) {
  return recvfrom(fd, into, size, flags, nullptr, nullptr);
}
ssize_t __recvfrom_chk(int fd, void* into, size_t size, size_t, int flags, sockaddr* from,
                       socklen_t* from_size) {
  return recvfrom(fd, into, size, flags, from, from_size);
}

int recvmmsg(int fd, mmsghdr* messages, unsigned int count, int flags, timespec* timeout) {
  if (const Fault f = ask(Call::recvmmsg, fd)) {
    if (f.error != 0) return static_cast<int>(failed(fd, f));
    count = std::min(count, static_cast<unsigned int>(f.most));
  }
  return static_cast<int>(::syscall(SYS_recvmmsg, fd, messages, count, flags, timeout));
}

}  // extern "C"
