#include "edge/process_peer.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/counters.h"

namespace pqedge::edge {
namespace {

const counters::Counter kPassed("pqedge_quic_passed_to_process_total",
                                "Datagrams sent to the other process of an upgrade.");
const counters::Counter kReturned("pqedge_quic_returned_by_process_total",
                                  "Datagrams that the process before did not know.");
const counters::Counter kDropped("pqedge_quic_process_dropped_total",
                                 "Datagrams dropped on their way to an upgrade's other process.");

// A message: kind, flags, ECN, the sender's worker, three addresses with their lengths; the rest is
// the datagram.
enum Kind : uint8_t { kDatagram = 1, kSettled = 2 };
constexpr uint8_t kIsReturned = 1;
constexpr size_t kMaxAddress = sizeof(sockaddr_in6);
constexpr size_t kMaxHeader = 5 + 3 * (1 + kMaxAddress);
constexpr size_t kMaxDatagram = 65'535;
// So that one process cannot hold the other's loop.
constexpr int kReadsPerTurn = 256;
// Of the ~90 datagrams that a socket takes by default a burst is easily lost.
constexpr int kQueueBytes = 4 << 20;

size_t put_address(uint8_t* out, const net::Address& address) {
  out[0] = static_cast<uint8_t>(address.size());
  std::memcpy(out + 1, address.data(), address.size());
  return 1 + address.size();
}

// Takes one from the front of `rest`; false: it is damaged.
bool get_address(Bytes& rest, net::Address& out) {
  if (rest.empty() || rest[0] > kMaxAddress || rest.size() < size_t{1} + rest[0]) return false;
  sockaddr_storage storage{};
  std::memcpy(&storage, rest.data() + 1, rest[0]);
  out = net::Address::from_sockaddr(reinterpret_cast<const sockaddr*>(&storage), rest[0]);
  rest = rest.subspan(size_t{1} + rest[0]);
  return true;
}

bool parse(Bytes bytes, ProcessPeer::Datagram& d) {
  if (bytes.size() < 5) return false;
  d.returned = (bytes[1] & kIsReturned) != 0;
  d.datagram.ecn = bytes[2] & 3;
  d.from = load_be16(bytes.data() + 3);
  Bytes rest = bytes.subspan(5);
  if (!get_address(rest, d.listener) || !get_address(rest, d.datagram.peer) ||
      !get_address(rest, d.datagram.local) || rest.empty()) {
    return false;
  }
  d.datagram.bytes = rest;
  return true;
}

bool peer_is_gone(int code) { return code == EPIPE || code == ECONNRESET || code == ENOTCONN; }

}  // namespace

ProcessPeer::ProcessPeer(uint16_t generation, std::vector<net::Fd> ends)
    : generation_(generation),
      ends_(std::move(ends)),
      gone_(std::make_unique<std::atomic<bool>[]>(ends_.size())) {
  for (const net::Fd& end : ends_) {
    if (setsockopt(end.get(), SOL_SOCKET, SO_SNDBUFFORCE, &kQueueBytes, sizeof kQueueBytes) != 0) {
      setsockopt(end.get(), SOL_SOCKET, SO_SNDBUF, &kQueueBytes, sizeof kQueueBytes);
    }
  }
}

bool ProcessPeer::send(uint16_t worker, const Datagram& d) {
  if (is_gone(worker)) return false;
  if (d.listener.size() > kMaxAddress || d.datagram.peer.size() > kMaxAddress ||
      d.datagram.local.size() > kMaxAddress) {
    return false;
  }
  std::array<uint8_t, kMaxHeader> header;
  header[0] = kDatagram;
  header[1] = d.returned ? kIsReturned : 0;
  header[2] = d.datagram.ecn;
  store_be16(header.data() + 3, d.from);
  size_t size = 5;
  for (const net::Address* a : {&d.listener, &d.datagram.peer, &d.datagram.local}) {
    size += put_address(header.data() + size, *a);
  }
  const std::array<iovec, 2> parts = {
      iovec{header.data(), size},
      iovec{const_cast<uint8_t*>(d.datagram.bytes.data()), d.datagram.bytes.size()}};
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(parts.data());
  message.msg_iovlen = parts.size();
  if (sendmsg(ends_[worker].get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) {
    kPassed.add();
    return true;
  }
  if (peer_is_gone(errno)) {
    set_gone(worker);
    return false;
  }
  kDropped.add();
  return true;
}

void ProcessPeer::send_settled(uint16_t worker) {
  if (is_gone(worker)) return;
  const uint8_t message[] = {kSettled};
  // Lost only where the queue is full: then what comes is asked about for longer than need be.
  [[maybe_unused]] const ssize_t n =
      ::send(ends_[worker].get(), message, sizeof message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

Result<std::unique_ptr<ProcessLink>> ProcessLink::open(net::Loop& loop,
                                                       std::shared_ptr<ProcessPeer> peer,
                                                       uint16_t worker,
                                                       ProcessLinkHandler& handler) {
  std::unique_ptr<ProcessLink> link(new ProcessLink(loop, std::move(peer), worker, handler));
  if (auto added = loop.add(link->peer_->end_of(worker), *link, true); !added) {
    return std::unexpected(added.error());
  }
  return link;
}

ProcessLink::~ProcessLink() { loop_.remove(peer_->end_of(worker_), *this); }

void ProcessLink::on_events(uint32_t) {
  static thread_local std::array<uint8_t, kMaxHeader + kMaxDatagram> buffer;
  for (int i = 0; i < kReadsPerTurn; ++i) {
    const ssize_t n = recv(peer_->end_of(worker_), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) {  // messages are never empty: the other end is closed
      peer_->set_gone(worker_);
      handler_.on_link_closed();
      return;
    }
    const Bytes bytes(buffer.data(), static_cast<size_t>(n));
    if (bytes[0] == kSettled) {
      handler_.on_link_settled();
      continue;
    }
    ProcessPeer::Datagram d;
    if (bytes[0] != kDatagram || !parse(bytes, d)) continue;
    if (d.returned) kReturned.add();
    handler_.on_link_datagram(d);
  }
}

}  // namespace pqedge::edge
