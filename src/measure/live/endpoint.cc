#include "measure/live/endpoint.h"

#include <arpa/inet.h>
#include <linux/tcp.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>

#include "base/text.h"

namespace pqedge::measure::live {

namespace {

std::string without_brackets(std::string host) {
  if (host.starts_with('[') && host.ends_with(']')) return host.substr(1, host.size() - 2);
  return host;
}

Result<net::Address> look_up(const std::string& host, uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) return fail("{}: no address: {}", host, gai_strerror(error));
  const auto address = net::Address::from_sockaddr(found->ai_addr, found->ai_addrlen);
  freeaddrinfo(found);
  return address;
}

}  // namespace

bool is_address(const std::string& host) {
  std::array<unsigned char, 16> ip;
  return inet_pton(AF_INET, host.c_str(), ip.data()) == 1 ||
         inet_pton(AF_INET6, host.c_str(), ip.data()) == 1;
}

std::string server_name(const Options& options) {
  if (!options.sni.empty()) return options.sni;
  return is_address(options.host) ? std::string() : options.host;
}

Result<net::Address> resolve(const Options& options) {
  if (options.connect.empty()) return look_up(options.host, port_of(options));
  Options other;
  if (auto read = set_target(other, options.connect); !read) {
    return fail("--connect {}", read.error().message);
  }
  return look_up(without_brackets(other.host), other.port != 0 ? other.port : port_of(options));
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

Result<net::Fd> connect_tcp(const net::Address& address, Nanos deadline) {
  auto socket = net::connect_stream(address);
  if (!socket) return std::unexpected(socket.error());
  if (auto ready = wait_for(socket->get(), POLLOUT, deadline); !ready) {
    return fail_errno(ready.error().code, "{}: cannot connect", address.to_string());
  }
  if (const int error = net::socket_error(socket->get()); error != 0) {
    return fail_errno(error, "{}: cannot connect", address.to_string());
  }
  static_cast<void>(net::set_nodelay(socket->get()));
  return socket;
}

void read_tcp_info(int socket, LiveRecord& record) {
  tcp_info info{};
  socklen_t size = sizeof(info);
  if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 ||
      size < offsetof(tcp_info, tcpi_segs_in) + sizeof(info.tcpi_segs_in)) {
    record.facts["packets"] = "not known: this kernel's TCP_INFO counts no segments";
    return;
  }
  record.packets = {info.tcpi_segs_out, info.tcpi_segs_in};
  record.packets_known = true;
  record.facts["packets"] =
      "TCP segments with acknowledgements, by TCP_INFO (segs_out, segs_in) when the handshake was "
      "done; a joined buffer of segmentation or receive offload counts each of its segments";
  record.sizes["tcp_mss"] = info.tcpi_snd_mss;
  record.sizes["tcp_retransmits"] = info.tcpi_total_retrans;
  record.times_us["round_trip"] = info.tcpi_rtt;
}

Result<void> send_all(int socket, std::string_view bytes, Nanos deadline) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<size_t>(sent));
    } else if (errno == EAGAIN) {
      if (auto ready = wait_for(socket, POLLOUT, deadline); !ready) return ready;
    } else if (errno != EINTR) {
      return fail_errno(errno, "the server took no more");
    }
  }
  return {};
}

Result<char> receive_byte(int socket, Nanos deadline) {
  for (;;) {
    char byte = 0;
    const ssize_t size = ::recv(socket, &byte, 1, 0);
    if (size == 1) return byte;
    if (size == 0) return fail("the server closed the connection");
    if (errno == EAGAIN) {
      if (auto ready = wait_for(socket, POLLIN, deadline); !ready) {
        return std::unexpected(ready.error());
      }
    } else if (errno != EINTR) {
      return fail_errno(errno, "the connection broke");
    }
  }
}

}  // namespace pqedge::measure::live
