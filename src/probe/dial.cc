#include "probe/dial.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include "probe/starttls.h"

namespace pqedge::probe {

Result<std::vector<net::Address>> resolve(const Options& options) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_family = options.family == Family::v4   ? AF_INET
                    : options.family == Family::v6 ? AF_INET6
                                                   : AF_UNSPEC;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(port_of(options));
  const int error = getaddrinfo(options.host.c_str(), port.c_str(), &hints, &found);
  if (error != 0) return fail("{}: no address: {}", options.host, gai_strerror(error));
  std::vector<net::Address> addresses;
  for (const addrinfo* a = found; a != nullptr; a = a->ai_next) {
    addresses.push_back(net::Address::from_sockaddr(a->ai_addr, a->ai_addrlen));
  }
  freeaddrinfo(found);
  return addresses;
}

Result<void> wait_for(int socket, short events, Nanos deadline) {
  for (;;) {
    const Nanos now = monotonic_now();
    if (now >= deadline) return fail_errno(ETIMEDOUT, "no answer in time");
    const Nanos left = deadline - now;
    const timespec timeout{static_cast<time_t>(left / kSecond), static_cast<long>(left % kSecond)};
    pollfd watched{socket, events, 0};
    const int count = ppoll(&watched, 1, &timeout, nullptr);
    if (count > 0) return {};
    if (count < 0 && errno != EINTR) return fail_errno(errno, "poll");
  }
}

Result<void> send_all(int socket, Bytes bytes, Nanos deadline) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes = bytes.subspan(static_cast<size_t>(sent));
    } else if (errno == EAGAIN) {
      if (auto ready = wait_for(socket, POLLOUT, deadline); !ready) return ready;
    } else if (errno != EINTR) {
      return fail_errno(errno, "the server took no more");
    }
  }
  return {};
}

Result<void> Dialer::take_one() {
  if (used_.fetch_add(1, std::memory_order_relaxed) < kMaxConnections) return {};
  used_.fetch_sub(1, std::memory_order_relaxed);
  return fail("the limit of {} connections is reached", kMaxConnections);
}

Result<Connection> Dialer::connect() {
  if (auto taken = take_one(); !taken) return std::unexpected(taken.error());
  Connection connection{.socket = {}, .deadline = monotonic_now() + options_.timeout};
  auto socket = net::connect_stream(address_);
  if (!socket) return std::unexpected(socket.error());
  if (auto ready = wait_for(socket->get(), POLLOUT, connection.deadline); !ready) {
    return fail_errno(ready.error().code, "{}: cannot connect", address_.to_string());
  }
  if (const int error = net::socket_error(socket->get()); error != 0) {
    return fail_errno(error, "{}: cannot connect", address_.to_string());
  }
  static_cast<void>(net::set_nodelay(socket->get()));
  connection.socket = std::move(*socket);
  if (auto started = start_tls(connection.socket.get(), options_.starttls, connection.deadline);
      !started) {
    return fail("{}: before TLS: {}", address_.to_string(), started.error().message);
  }
  return connection;
}

}  // namespace pqedge::probe
