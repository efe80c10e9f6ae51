// Where a server's listening sockets come from: bound here, one a worker, or inherited.
#include <fcntl.h>

#include <algorithm>
#include <format>

#include "base/log.h"
#include "edge/bindings.h"
#include "edge/server.h"

namespace pqedge::edge {
namespace {

Result<net::Fd> duplicate(const net::Fd& fd) {
  net::Fd copy(fcntl(fd.get(), F_DUPFD_CLOEXEC, 0));
  if (!copy) return fail_errno(errno, "cannot duplicate a listening socket");
  return copy;
}

void log_buffers(const net::Address& address, const net::UdpSocket& udp) {
  log::info("listener", "{} UDP: receive buffer {} bytes asked, {} granted; GSO {}, GRO {}",
            address.to_string(), udp.receive_buffer_asked, udp.receive_buffer_granted,
            udp.gso ? "on" : "off", udp.gro ? "on" : "off");
}

std::unexpected<Error> about(const Binding& b, const char* what, const Error& error) {
  return fail("listener '{}'{}: {}", b.listener->name, what, error.message);
}

}  // namespace

const net::InheritedSocket* Server::inherited(const net::Address& address, bool udp) const {
  const auto it = std::ranges::find_if(options_.inherited, [&](const net::InheritedSocket& s) {
    return s.udp == udp && s.address == address;
  });
  return it == options_.inherited.end() ? nullptr : &*it;
}

std::string Server::unused_sockets(const Settings& settings) const {
  std::string unused;
  const auto all = bindings(settings);
  for (const net::InheritedSocket& s : options_.inherited) {
    const bool used = std::ranges::any_of(all, [&](const Binding& b) {
      return b.address == s.address && (s.udp ? b.listener->binds_udp() : b.listener->binds_tcp());
    });
    if (used) continue;
    unused += std::format("{}{} {} ('{}')", unused.empty() ? "" : ", ", s.udp ? "UDP" : "stream",
                          s.address.to_string(), s.name);
  }
  return unused;
}

// Every worker gets a socket of its own where we bind it (SO_REUSEPORT spreads the clients). One
// that is inherited, or a Unix socket, there is but once: the workers share it.
//
// What another process passed on is one a worker again, since the workers are as many as they were.
Result<net::Fd> Server::stream_socket(const Binding& b, size_t worker, const net::Fd* first) {
  if (const net::InheritedSocket* socket = inherited(b.address, false)) {
    return duplicate(socket->fd);
  }
  if (PassedSocket* socket = passed(b.address, false, worker)) return std::move(socket->fd);
  if (b.address.is_unix() && first != nullptr) return duplicate(*first);
  net::ListenOptions options;
  options.v6_only = b.listener->v6_only;
  return net::listen_stream(b.address, options);
}

Result<net::UdpSocket> Server::udp_socket(const Binding& b, size_t worker,
                                          const quic::Settings& quic) {
  if (const net::InheritedSocket* socket = inherited(b.address, true)) {
    auto copy = duplicate(socket->fd);
    if (!copy) return std::unexpected(copy.error());
    return net::adopt_udp(std::move(*copy), b.address, quic.receive_buffer, quic.send_buffer);
  }
  if (PassedSocket* socket = passed(b.address, true, worker)) {
    return net::adopt_udp(std::move(socket->fd), b.address, quic.receive_buffer, quic.send_buffer);
  }
  net::ListenOptions options;
  options.v6_only = b.listener->v6_only;
  return net::bind_udp(b.address, options, quic.receive_buffer, quic.send_buffer);
}

// Binds what is new. What is bound already stays as it is.
Result<std::vector<ListenerPlan>> Server::plan_listeners(const Settings& settings) {
  std::vector<ListenerPlan> plans(shared_.workers.size());
  const PassthroughSet passthroughs(settings, shared_.servers);
  for (const Binding& b : bindings(settings)) {
    const auto known = bound_.find(b.address.to_string());
    const Bound bound = known == bound_.end() ? Bound{} : known->second;
    const bool new_tcp = b.listener->binds_tcp() && !bound.tcp;
    const bool new_udp = b.listener->binds_udp() && bound.udp != udp_of(*b.listener);
    for (const bool udp : {false, true}) {
      if (!(udp ? new_udp : new_tcp) || inherited(b.address, udp) != nullptr ||
          is_passed(b.address, udp)) {
        continue;
      }
      if (auto ok = check_free(b, udp); !ok) return std::unexpected(ok.error());
    }
    auto passthrough = passthroughs.table_of(*b.listener);
    if (!passthrough) return std::unexpected(passthrough.error());
    const auto view = make_listener_view(*b.listener, b.address, std::move(*passthrough),
                                         inherited(b.address, true) != nullptr);
    for (size_t i = 0; i < plans.size(); ++i) {
      ListenerPlan::Entry entry;
      entry.view = view;
      if (new_tcp) {
        auto fd = stream_socket(b, i, i == 0 ? nullptr : &plans[0].entries.back().tcp);
        if (!fd) return about(b, "", fd.error());
        entry.tcp = std::move(*fd);
      }
      if (new_udp) {
        entry.read_udp = !is_left_to_predecessor(b.address);
        auto udp = udp_socket(b, i, settings.quic);
        if (!udp) return about(b, " (UDP)", udp.error());
        if (i == 0) log_buffers(b.address, *udp);
        entry.udp = std::move(*udp);
      }
      plans[i].entries.push_back(std::move(entry));
    }
  }
  return plans;
}

PassedSocket* Server::passed(const net::Address& address, bool udp, size_t worker) {
  if (!options_.before) return nullptr;
  const auto use = udp ? PassedSocket::Use::udp : PassedSocket::Use::stream;
  const auto it = std::ranges::find_if(options_.before->sockets, [&](const PassedSocket& s) {
    return s.use == use && s.address == address && s.worker == worker && s.fd;
  });
  return it == options_.before->sockets.end() ? nullptr : &*it;
}

bool Server::is_passed(const net::Address& address, bool udp) {
  return passed(address, udp, 0) != nullptr;
}

// Two must not read from one socket: the datagrams of a connection would be torn apart.
bool Server::is_left_to_predecessor(const net::Address& address) {
  if (!options_.before || (!is_passed(address, true) && inherited(address, true) == nullptr &&
                           !std::ranges::contains(udp_to_take_, address.to_string()))) {
    return false;
  }
  if (!std::ranges::contains(udp_to_take_, address.to_string())) {
    udp_to_take_.push_back(address.to_string());
  }
  return true;
}

}  // namespace pqedge::edge
