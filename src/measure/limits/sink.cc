#include "measure/limits/sink.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <string>
#include <string_view>

namespace pqedge::measure {
namespace {

constexpr std::string_view kAnswer =
    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok";
constexpr timeval kPatience{2, 0};

// One request, then the connection ends. Nothing of it is looked at but its end.
void answer(int fd) {
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  std::string tail;
  std::array<char, 16384> buffer;
  for (;;) {
    const ssize_t n = ::recv(fd, buffer.data(), buffer.size(), 0);
    if (n <= 0) return;
    tail.append(buffer.data(), static_cast<size_t>(n));
    if (tail.find("\r\n\r\n") != std::string::npos) break;
    if (tail.size() > 3) tail.erase(0, tail.size() - 3);
  }
  ::send(fd, kAnswer.data(), kAnswer.size(), MSG_NOSIGNAL);
  ::shutdown(fd, SHUT_WR);
  while (::recv(fd, buffer.data(), buffer.size(), 0) > 0) {
  }
}

}  // namespace

Result<std::unique_ptr<Sink>> Sink::start() {
  std::unique_ptr<Sink> sink(new Sink);
  const auto any = net::Address::from_ip("127.0.0.1", 0);
  if (!any) return std::unexpected(any.error());
  sink->listener_ = net::Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sink->stop_ = net::Fd(::eventfd(0, EFD_CLOEXEC));
  if (!sink->listener_ || !sink->stop_ ||
      ::bind(sink->listener_.get(), any->data(), any->size()) != 0 ||
      ::listen(sink->listener_.get(), 64) != 0) {
    return fail_errno(errno, "cannot listen on 127.0.0.1");
  }
  const auto address = net::local_address(sink->listener_.get());
  if (!address) return std::unexpected(address.error());
  sink->address_ = *address;
  sink->thread_ = std::thread([raw = sink.get()] { raw->serve(); });
  return sink;
}

Sink::~Sink() {
  if (!thread_.joinable()) return;
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(stop_.get(), &one, sizeof one);
  thread_.join();
}

void Sink::serve() {
  for (;;) {
    std::array<pollfd, 2> watched{{{listener_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}}};
    if (::poll(watched.data(), watched.size(), -1) < 0) continue;
    if (watched[1].revents != 0) return;
    const net::Fd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (client) answer(client.get());
  }
}

}  // namespace pqedge::measure
