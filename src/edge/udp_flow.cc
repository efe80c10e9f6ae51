#include "edge/udp_flow.h"

#include <algorithm>
#include <cerrno>
#include <format>
#include <system_error>

#include "edge/passthrough_record.h"
#include "edge/udp_passthrough.h"
#include "edge/worker.h"
#include "wire/proxy_protocol/header.h"
#include "wire/quic/long_header.h"

namespace pqedge::edge {
namespace {

constexpr int kReceiveCalls = 4;  // system calls of one turn, as of a listener
constexpr int kReceiveBuffer = 1024 * 1024;
// A PROXY header that was not answered may be lost: a datagram that comes so much later has it too.
constexpr Nanos kHeaderAgain = 500 * kMillisecond;

const counters::Counter kDropped(
    "pqedge_passthrough_quic_dropped_total",
    "Datagrams of QUIC connections that are passed on, dropped since a socket was full.");
const counters::Counter kUnreachable(
    "pqedge_passthrough_quic_unreachable_total",
    "Times that a server of a QUIC connection that is passed on was told to be unreachable.");

}  // namespace

UdpFlow::UdpFlow(UdpPassthrough& owner, PassthroughRef passthrough, const net::Address& peer,
                 const net::Address& local, std::string host)
    : key(peer, local),
      owner_(owner),
      passthrough_(std::move(passthrough)),
      began_(owner.worker().loop().now()),
      last_(began_),
      timer_([](void* self) { static_cast<UdpFlow*>(self)->on_timer(); }, this) {
  facts_.peer = peer;
  facts_.local = local;
  facts_.transport = net::Transport::quic;
  facts_.sni = std::move(host);
  const auto& count = passthrough_->count(PassthroughTransport::udp);
  count.connections.add();
  count.open.add();
}

UdpFlow::~UdpFlow() {
  close_socket();
  passthrough_->count(PassthroughTransport::udp).open.subtract();
}

// ---- the server ---------------------------------------------------------------------------------

Result<void> UdpFlow::begin(std::vector<KeptDatagram> first_flight) {
  first_flight_ = std::move(first_flight);
  for (const KeptDatagram& d : first_flight_) {
    bytes_in_ += d.bytes.size();
    passthrough_->count(PassthroughTransport::udp).bytes_in.add(d.bytes.size());
  }
  return try_servers();
}

Result<void> UdpFlow::follow(std::shared_ptr<upstream::ServerState> server) {
  followed_ = true;
  if (auto opened = open(std::move(server)); !opened) return opened;
  arm();
  return {};
}

Result<void> UdpFlow::try_servers() {
  while (auto server =
             passthrough_->pick(owner_.worker().loop().now(), tried_, facts_.peer)) {
    tried_.push_back(server.get());
    if (auto opened = open(std::move(server)); !opened) {
      why_ = opened.error().message;
      if (const int code = opened.error().code; code == EMFILE || code == ENFILE) {
        owner_.worker().warn_out_of_descriptors(code);
        break;  // not the server's fault
      }
      lease_.note_failure(owner_.worker().loop().now());
      continue;
    }
    arm();
    send_first_flight();
    return {};
  }
  passthrough_->count(PassthroughTransport::udp).failed.add();
  return fail("{}", why_.empty() ? "every server is at its maximum of connections" : why_);
}

Result<void> UdpFlow::open(std::shared_ptr<upstream::ServerState> server) {
  lease_ = PassthroughLease(std::move(server));
  auto socket = net::ConnectedUdp::open(lease_->address, kReceiveBuffer);
  if (!socket) return std::unexpected(socket.error());
  if (auto added = owner_.worker().loop().add(socket->fd(), *this, true); !added) return added;
  socket_.emplace(std::move(*socket));
  receiver_.emplace(socket_->fd(), socket_->local());
  header_sent_ = kNever;
  refused_ = false;
  return {};
}

void UdpFlow::close_socket() {
  if (!socket_) return;
  owner_.worker().loop().remove(socket_->fd(), *this);
  receiver_.reset();
  socket_.reset();
}

void UdpFlow::send_first_flight() {
  for (const KeptDatagram& d : first_flight_) send(as_bytes(d.bytes), d.bytes.size(), d.ecn);
}

// What the kernel says of the way to the server. Acted on in the next turn: the flow may be in use.
void UdpFlow::note_error(int code) {
  if (code == EAGAIN || code == EWOULDBLOCK || code == ENOBUFS) return kDropped.add();
  if (code == EMSGSIZE) return;  // a probe of the path's MTU, which is to fail
  kUnreachable.add();
  if (answered_ || refused_) return;  // it has spoken before; connections there may survive
  refused_ = true;
  why_ = std::format("{}: {}", lease_->name, std::generic_category().message(code));
  timer_.arm(owner_.worker().loop(), 0);
}

void UdpFlow::on_refused() {
  lease_.note_failure(owner_.worker().loop().now());
  close_socket();
  if (followed_) return owner_.end(*this, why_);
  if (try_servers()) return;
  if (!first_flight_.empty()) owner_.listener().refuse(first_flight_.front().view());
  owner_.end(*this, why_);
}

// ---- from the client ----------------------------------------------------------------------------

void UdpFlow::note_client(const quic::ReceivedDatagram& datagram, bool proven) {
  last_ = owner_.worker().loop().now();
  bytes_in_ += datagram.bytes.size();
  passthrough_->count(PassthroughTransport::udp).bytes_in.add(datagram.bytes.size());
  if (proven && !followed_) prove();
  if (!answered_ && !followed_ && first_flight_.size() < PendingHellos::kMaxDatagrams) {
    first_flight_.emplace_back(datagram);
  }
}

void UdpFlow::prove() {
  if (std::exchange(proven_, true)) return;
  owner_.note_proven(*this);
  arm();
}

bool UdpFlow::header_due() const {
  if (passthrough_->pool.send_proxy == 0) return false;
  return header_sent_ == kNever ||
         (!answered_ && owner_.worker().loop().now() - header_sent_ > kHeaderAgain);
}

// In front of the first datagram, in the same one: they cannot be lost or overtaken singly.
std::string UdpFlow::proxy_header() const {
  proxy_protocol::Header header;
  header.is_datagram = true;
  header.source = facts_.peer;
  header.destination = facts_.local;
  header.authority = facts_.sni;
  return proxy_protocol::write_version2(header);
}

void UdpFlow::send(Bytes bytes, size_t segment, uint8_t ecn) {
  if (!socket_ || bytes.empty()) return;
  if (header_due()) {
    const Bytes first = bytes.first(std::min(segment, bytes.size()));
    const std::string header = proxy_header();
    header_sent_ = owner_.worker().loop().now();
    if (const int code = socket_->send_joined(as_bytes(header), first, ecn); code != 0) {
      note_error(code);
    }
    bytes = bytes.subspan(first.size());
    if (bytes.empty()) return;
  }
  if (const int code = socket_->send(bytes, segment, ecn); code != 0) note_error(code);
}

// ---- from the server ----------------------------------------------------------------------------

void UdpFlow::on_events(uint32_t events) {
  if (events & kError) {
    if (const int code = net::socket_error(socket_->fd()); code != 0) note_error(code);
  }
  if ((events & kReadable) == 0) return;
  bool more = true;
  for (int i = 0; i < kReceiveCalls && more; ++i) {
    if (!owner_.listener().can_send()) return stall();
    more = receiver_->receive([this](Bytes bytes, const net::Address&, const net::Address&,
                                     uint8_t ecn) { take_from_server(bytes, ecn); });
  }
}

void UdpFlow::take_from_server(Bytes bytes, uint8_t ecn) {
  last_ = owner_.worker().loop().now();
  if (!std::exchange(answered_, true)) {
    answered_at_ = last_;
    first_flight_ = {};
    tried_ = {};
    refused_ = false;
    if (followed_) prove();
  }
  if (quic::is_long_header(bytes[0])) {
    // Version Negotiation (0) only repeats the client's own choice.
    const auto header = quic::read_invariant_header(bytes);
    if (header && header->version != 0) server_ids.add(header->source);
  }
  bytes_out_ += bytes.size();
  passthrough_->count(PassthroughTransport::udp).bytes_out.add(bytes.size());
  if (!owner_.listener().send_datagram(facts_.local, facts_.peer, bytes, ecn)) kDropped.add();
}

// The clients' socket is full: the kernel keeps what comes meanwhile, as far as its buffer goes.
void UdpFlow::stall() {
  owner_.worker().loop().set_interest(socket_->fd(), *this, false);
  owner_.note_stalled(*this);
}

void UdpFlow::resume() {
  if (socket_) owner_.worker().loop().set_interest(socket_->fd(), *this, true);
}

// ---- time ---------------------------------------------------------------------------------------

void UdpFlow::arm() {
  if (refused_) return;
  timer_.arm_at(owner_.worker().loop(), proven_
                                            ? last_ + passthrough_->settings.quic_idle_timeout
                                            : began_ + owner_.half_open_time());
}

void UdpFlow::on_timer() {
  if (std::exchange(refused_, false)) return on_refused();
  const Nanos now = owner_.worker().loop().now();
  if (!proven_) {
    if (now < began_ + owner_.half_open_time()) return arm();
    if (!answered_) lease_.note_failure(now);
    return owner_.end(*this, answered_ ? "the client did not answer" : "the server did not answer");
  }
  if (now < last_ + passthrough_->settings.quic_idle_timeout) return arm();
  owner_.end(*this, "idle timeout");
}

void UdpFlow::finish(std::string_view why) {
  PassthroughRecord line;
  line.facts = &facts_;
  line.listener = owner_.view().settings.name;
  line.passthrough = passthrough_.get();
  if (lease_) line.backend = lease_->name;
  line.bytes_in = bytes_in_;
  line.bytes_out = bytes_out_;
  line.duration = owner_.worker().loop().now() - began_;
  if (answered_at_ != kNever) line.connect = answered_at_ - began_;
  line.reason = why;
  record_passthrough(owner_.worker(), line);
}

}  // namespace pqedge::edge
