#include "edge/udp_server_socket.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <format>
#include <system_error>

#include "edge/worker.h"
#include "net/socket.h"
#include "wire/proxy_protocol/header.h"

namespace pqedge::edge {
namespace {

constexpr int kServerReceiveCalls = 4;  // system calls of one turn, as of a listener
// A PROXY header that was not answered may be lost: a datagram that comes so much later has it too.
constexpr Nanos kHeaderAgain = 500 * kMillisecond;

}  // namespace

void allow_fragments(int fd) {
  const int four = IP_PMTUDISC_DONT;
  const int six = IPV6_PMTUDISC_DONT;
  setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &four, sizeof four);
  setsockopt(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, &six, sizeof six);
}

UdpServerSocket::UdpServerSocket(Worker& worker, User& user, const Kind& kind,
                                 const net::Address& peer, const net::Address& local)
    : worker_(worker),
      user_(user),
      kind_(kind),
      peer_(peer),
      local_(local),
      unreachable_([](void* self) { static_cast<UdpServerSocket*>(self)->on_unreachable(); },
                   this) {}

// ---- which server -------------------------------------------------------------------------------

Result<void> UdpServerSocket::open(std::shared_ptr<upstream::ServerState> server) {
  close();
  lease_ = PassthroughLease(std::move(server));
  auto socket = net::ConnectedUdp::open(lease_->address, kind_.receive_buffer);
  if (!socket) return std::unexpected(socket.error());
  if (kind_.fragments) allow_fragments(socket->fd());
  if (auto added = worker_.loop().add(socket->fd(), *this, true); !added) return added;
  socket_.emplace(std::move(*socket));
  receiver_.emplace(socket_->fd(), socket_->local());
  header_sent_ = kNever;
  return {};
}

bool UdpServerSocket::open_one_of(
    const std::function<std::shared_ptr<upstream::ServerState>()>& next) {
  while (auto server = next()) {
    const auto opened = open(std::move(server));
    if (opened) return true;
    why_ = opened.error().message;
    if (const int code = opened.error().code; net::is_own_shortage(code)) {
      worker_.warn_out_of_descriptors(code);
      return false;  // it says nothing of the server
    }
    note_failure();
  }
  return false;
}

void UdpServerSocket::close() {
  unreachable_.disarm();
  if (!socket_) return;
  worker_.loop().remove(socket_->fd(), *this);
  receiver_.reset();
  socket_.reset();
}

void UdpServerSocket::note_failure() {
  if (lease_) lease_.note_failure(worker_.loop().now());
}

// What the kernel says of the way to the server. Acted on in the next turn: the socket may be in
// use.
void UdpServerSocket::note_error(int code) {
  if (code == EMSGSIZE && !kind_.fragments) return;
  if (code == EAGAIN || code == EWOULDBLOCK || code == ENOBUFS || code == ENOMEM ||
      code == EMSGSIZE) {
    return kind_.lost.add();
  }
  kind_.unreachable.add();
  // It has spoken before: what it serves there may survive.
  if (answered() || unreachable_.armed()) return;
  why_ = std::format("{}: {}", lease_->name, std::generic_category().message(code));
  unreachable_.arm(worker_.loop(), 0);
}

void UdpServerSocket::on_unreachable() {
  note_failure();
  close();
  user_.on_server_unreachable();  // may destroy this
}

// ---- datagrams ----------------------------------------------------------------------------------

bool UdpServerSocket::header_due() const {
  if (!announces_) return false;
  return header_sent_ == kNever ||
         (!answered() && worker_.loop().now() - header_sent_ > kHeaderAgain);
}

// In front of a datagram, in the same one: they cannot be lost or overtaken singly.
std::string UdpServerSocket::header() const {
  proxy_protocol::Header header;
  header.is_datagram = true;
  header.source = peer_;
  header.destination = local_;
  header.authority = authority_;
  return proxy_protocol::write_version2(header);
}

void UdpServerSocket::send(Bytes bytes, size_t segment, uint8_t ecn) {
  if (!socket_) return;
  if (header_due()) {
    const Bytes first = bytes.first(std::min(segment, bytes.size()));
    const std::string announcement = header();
    header_sent_ = worker_.loop().now();
    if (const int code = socket_->send_joined(as_bytes(announcement), first, ecn); code != 0) {
      note_error(code);
    }
    bytes = bytes.subspan(first.size());
    if (bytes.empty()) return;
  }
  if (const int code = socket_->send(bytes, segment, ecn); code != 0) note_error(code);
}

void UdpServerSocket::on_events(uint32_t events) {
  if ((events & kError) != 0) {
    if (const int code = net::socket_error(socket_->fd()); code != 0) note_error(code);
  }
  if ((events & kReadable) == 0) return;
  bool more = true;
  for (int i = 0; i < kServerReceiveCalls && more; ++i) {
    if (!user_.takes_datagrams()) {
      worker_.loop().set_interest(socket_->fd(), *this, false);
      return;
    }
    more = receiver_->receive([this](Bytes bytes, const net::Address&, const net::Address&,
                                     uint8_t ecn) { take(bytes, ecn); });
  }
}

void UdpServerSocket::take(Bytes bytes, uint8_t ecn) {
  const bool first = !answered();
  if (first) {
    answered_at_ = worker_.loop().now();
    unreachable_.disarm();
  }
  user_.on_server_datagram(bytes, ecn, first);
}

void UdpServerSocket::resume() {
  if (socket_) worker_.loop().set_interest(socket_->fd(), *this, true);
}

}  // namespace pqedge::edge
