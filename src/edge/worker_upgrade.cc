// A worker's part in an upgrade: what it listens on goes to another process, or came from one.
#include <fcntl.h>

#include <algorithm>

#include "edge/worker.h"

namespace pqedge::edge {
namespace {

Result<net::Fd> duplicate(int fd) {
  net::Fd copy(fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (!copy) return fail_errno(errno, "cannot duplicate a listening socket");
  return copy;
}

}  // namespace

Result<void> Worker::add_sockets_to(std::vector<PassedSocket>& out) const {
  const auto add = [&](PassedSocket::Use use, const ListenerView& view, int fd) -> Result<void> {
    auto copy = duplicate(fd);
    if (!copy) return std::unexpected(copy.error());
    out.push_back({.use = use, .address = view.address, .worker = index_, .fd = std::move(*copy)});
    return {};
  };
  for (const auto& [key, l] : tcp_) {
    if (auto ok = add(PassedSocket::Use::stream, l->view(), l->fd()); !ok) return ok;
  }
  for (const auto& [key, l] : quic_) {
    if (auto ok = add(PassedSocket::Use::udp, l->view(), l->fd()); !ok) return ok;
  }
  return udp_streams_.add_sockets_to(out);
}

void Worker::stop_reading(const std::vector<std::string>& udp) {
  for (const auto& [key, l] : quic_) {
    // Taking a socket out of the loop does not fail.
    if (std::ranges::contains(udp, key)) [[maybe_unused]]
      const auto ok = l->set_reading(false);
  }
  udp_streams_.stop_reading(udp);
}

Result<void> Worker::begin_reading() {
  for (const auto& [key, l] : quic_) {
    if (auto ok = l->set_reading(true); !ok) return ok;
  }
  return udp_streams_.begin_reading();
}

QuicListener* Worker::quic_listener(const net::Address& address) const {
  if (const auto it = quic_.find(address.to_string()); it != quic_.end()) return it->second.get();
  const auto it = std::ranges::find_if(closing_quic_,
                                       [&](const auto& l) { return l->view().address == address; });
  return it == closing_quic_.end() ? nullptr : it->get();
}

bool Worker::quic_is_settled() const {
  const auto settled = [](const auto& l) { return l->is_settled(); };
  return std::ranges::all_of(closing_quic_, settled) &&
         std::ranges::all_of(quic_, [&](const auto& one) { return settled(one.second); });
}

}  // namespace pqedge::edge
