#include "edge/udp_flow.h"

#include "edge/passthrough_record.h"
#include "edge/udp_passthrough.h"
#include "edge/worker.h"
#include "wire/quic/long_header.h"

namespace pqedge::edge {
namespace {

const counters::Counter kFlowDropped(
    "pqedge_passthrough_quic_dropped_total",
    "Datagrams of QUIC connections that are passed on, dropped since a socket was full.");

const UdpServerSocket::Kind kFlowSocket{
    .receive_buffer = 1024 * 1024,
    .fragments = false,
    .lost = kFlowDropped,
    .unreachable = counters::Counter(
        "pqedge_passthrough_quic_unreachable_total",
        "Times that a server of a QUIC connection that is passed on was told to be unreachable.")};

}  // namespace

UdpFlow::UdpFlow(UdpPassthrough& owner, PassthroughRef passthrough, const net::Address& peer,
                 const net::Address& local, std::string host)
    : key(peer, local),
      owner_(owner),
      passthrough_(std::move(passthrough)),
      server_(owner.worker(), *this, kFlowSocket, peer, local),
      began_(owner.worker().loop().now()),
      last_(began_),
      timer_([](void* self) { static_cast<UdpFlow*>(self)->on_timer(); }, this) {
  facts_.peer = peer;
  facts_.local = local;
  facts_.transport = net::Transport::quic;
  facts_.sni = std::move(host);
  if (passthrough_->pool.send_proxy != 0) server_.announce_client(facts_.sni);
  const auto& count = passthrough_->count(PassthroughTransport::udp);
  count.connections.add();
  count.open.add();
}

UdpFlow::~UdpFlow() { passthrough_->count(PassthroughTransport::udp).open.subtract(); }

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
  if (auto opened = server_.open(std::move(server)); !opened) return opened;
  arm();
  return {};
}

Result<void> UdpFlow::try_servers() {
  const bool opened = server_.open_one_of([this] {
    auto server = passthrough_->pick(owner_.worker().loop().now(), tried_, facts_.peer);
    if (server != nullptr) tried_.push_back(server.get());
    return server;
  });
  if (!opened) {
    passthrough_->count(PassthroughTransport::udp).failed.add();
    return fail("{}", server_.why().empty() ? "every server is at its maximum of connections"
                                            : server_.why());
  }
  arm();
  for (const KeptDatagram& d : first_flight_) send(as_bytes(d.bytes), d.bytes.size(), d.ecn);
  return {};
}

void UdpFlow::on_server_unreachable() {
  if (followed_) return owner_.end(*this, server_.why());
  if (try_servers()) return;
  if (!first_flight_.empty()) owner_.listener().refuse(first_flight_.front().view());
  owner_.end(*this, server_.why());
}

// ---- from the client ----------------------------------------------------------------------------

void UdpFlow::note_client(const quic::ReceivedDatagram& datagram, bool proven) {
  last_ = owner_.worker().loop().now();
  bytes_in_ += datagram.bytes.size();
  passthrough_->count(PassthroughTransport::udp).bytes_in.add(datagram.bytes.size());
  if (proven && !followed_) prove();
  if (!server_.answered() && !followed_ && first_flight_.size() < PendingHellos::kMaxDatagrams) {
    first_flight_.emplace_back(datagram);
  }
}

void UdpFlow::prove() {
  if (std::exchange(proven_, true)) return;
  owner_.note_proven(*this);
  arm();
}

// ---- from the server ----------------------------------------------------------------------------

// While the clients' socket is full the kernel keeps what comes, as far as its buffer goes.
bool UdpFlow::takes_datagrams() {
  if (owner_.listener().can_send()) return true;
  owner_.note_stalled(*this);
  return false;
}

void UdpFlow::on_server_datagram(Bytes bytes, uint8_t ecn, bool first) {
  last_ = owner_.worker().loop().now();
  if (first) {
    first_flight_ = {};
    tried_ = {};
    if (followed_) prove();
  }
  if (quic::is_long_header(bytes[0])) {
    // Version Negotiation (0) only repeats the client's own choice.
    const auto header = quic::read_invariant_header(bytes);
    if (header && header->version != 0) server_ids.add(header->source);
  }
  bytes_out_ += bytes.size();
  passthrough_->count(PassthroughTransport::udp).bytes_out.add(bytes.size());
  if (!owner_.listener().send_datagram(facts_.local, facts_.peer, bytes, ecn)) kFlowDropped.add();
}

// ---- time ---------------------------------------------------------------------------------------

void UdpFlow::arm() {
  timer_.arm_at(owner_.worker().loop(), proven_ ? last_ + passthrough_->settings.quic_idle_timeout
                                                : began_ + owner_.half_open_time());
}

void UdpFlow::on_timer() {
  const Nanos now = owner_.worker().loop().now();
  if (!proven_) {
    if (now < began_ + owner_.half_open_time()) return arm();
    if (!server_.answered()) server_.note_failure();
    return owner_.end(
        *this, server_.answered() ? "the client did not answer" : "the server did not answer");
  }
  if (now < last_ + passthrough_->settings.quic_idle_timeout) return arm();
  owner_.end(*this, "idle timeout");
}

void UdpFlow::finish(std::string_view why) {
  PassthroughRecord line;
  line.facts = &facts_;
  line.listener = owner_.view().settings.name;
  line.passthrough = passthrough_.get();
  line.backend = server_.server();
  line.bytes_in = bytes_in_;
  line.bytes_out = bytes_out_;
  line.duration = owner_.worker().loop().now() - began_;
  if (server_.answered()) line.connect = server_.answered_at() - began_;
  line.reason = why;
  record_passthrough(owner_.worker(), line);
}

}  // namespace pqedge::edge
