// One client of a UDP listener.
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <format>
#include <system_error>

#include "base/log.h"
#include "edge/udp_stream.h"
#include "edge/worker.h"
#include "wire/proxy_protocol/header.h"

namespace pqedge::edge {
namespace {

constexpr int kReceiveCalls = 4;  // system calls of one turn
constexpr int kReceiveBuffer = 256 * 1024;
// What is kept of a first datagram, to be sent to another server.
constexpr size_t kMostKept = 4096;
constexpr uint32_t kMostTries = 8;
// A PROXY header that was not answered may be lost: a datagram that comes so much later has it too.
constexpr Nanos kHeaderAgain = 500 * kMillisecond;
constexpr Nanos kHurry = 500 * kMillisecond;

const counters::Counter kLost("pqedge_stream_udp_lost_total",
                              "Datagrams of UDP listeners that could not be sent to a server.");

}  // namespace

UdpSession::UdpSession(UdpStream& owner, const net::Address& peer, const net::Address& local)
    : key(peer, local),
      owner_(owner),
      peer_(peer),
      local_(local),
      began_(owner.worker().loop().now()),
      last_(began_),
      timer_([](void* self) { static_cast<UdpSession*>(self)->on_timer(); }, this) {}

UdpSession::~UdpSession() { close_socket(); }

// ---- the server ---------------------------------------------------------------------------------

bool UdpSession::begin(const quic::ReceivedDatagram& first) {
  const ListenerSettings& listener = owner_.view().settings;
  const RoutePlan& plan = owner_.worker().snapshot()->shared().plan_for_stream(listener.name);
  if (plan.settings == nullptr) return false;
  upstream::Pool& pool = owner_.worker().snapshot()->pool(plan.pool);
  count_ = plan.stream;
  pool_ = pool.settings().name;
  send_proxy_ = pool.settings().send_proxy;
  timeout_ = listener.stream.udp_timeout;
  pool.read_choice(peer_, choice_);
  if (first.bytes.size() <= kMostKept) first_ = as_text(first.bytes);
  first_ecn_ = first.ecn;
  bytes_in_ = first.bytes.size();
  if (!try_servers()) {
    count_->failed.add();
    return false;
  }
  count_->connections.add();
  send(first.bytes, first.ecn);
  timer_.arm_at(owner_.worker().loop(), last_ + timeout_);
  if (!owner_.accepting()) hurry();
  return true;
}

// Those of the pool as it is now: it may have changed since the session began.
bool UdpSession::try_servers() {
  Worker& worker = owner_.worker();
  const RoutePlan& plan =
      worker.snapshot()->shared().plan_for_stream(owner_.view().settings.name);
  if (plan.settings == nullptr) return false;
  upstream::Pool& pool = worker.snapshot()->pool(plan.pool);
  while (tries_ < kMostTries) {
    ++tries_;
    auto server = pool.pick(choice_);
    if (server == nullptr || choice_.avoids(server.get())) return false;
    choice_.avoid(server.get());
    auto opened = open(std::move(server));
    if (opened) return true;
    why_ = opened.error().message;
    if (const int code = opened.error().code; code == EMFILE || code == ENFILE) {
      worker.warn_out_of_descriptors(code);
      return false;  // not the server's fault
    }
    lease_.note_failure(worker.loop().now());
  }
  return false;
}

Result<void> UdpSession::open(std::shared_ptr<upstream::ServerState> server) {
  lease_ = PassthroughLease(std::move(server));
  auto socket = net::ConnectedUdp::open(lease_->address, kReceiveBuffer);
  if (!socket) return std::unexpected(socket.error());
  const int four = IP_PMTUDISC_DONT;
  const int six = IPV6_PMTUDISC_DONT;
  setsockopt(socket->fd(), IPPROTO_IP, IP_MTU_DISCOVER, &four, sizeof four);
  setsockopt(socket->fd(), IPPROTO_IPV6, IPV6_MTU_DISCOVER, &six, sizeof six);
  if (auto added = owner_.worker().loop().add(socket->fd(), *this, true); !added) return added;
  socket_.emplace(std::move(*socket));
  receiver_.emplace(socket_->fd(), socket_->local());
  header_sent_ = kNever;
  refused_ = false;
  return {};
}

void UdpSession::close_socket() {
  if (!socket_) return;
  owner_.worker().loop().remove(socket_->fd(), *this);
  receiver_.reset();
  socket_.reset();
}

// What the kernel says of the way to the server. Acted on in the next turn: the socket may be in
// use.
void UdpSession::note_error(int code) {
  if (code == EAGAIN || code == EWOULDBLOCK || code == ENOBUFS || code == EMSGSIZE) {
    return kLost.add();
  }
  if (answered() || refused_) return;  // it has spoken before, and may again
  refused_ = true;
  why_ = std::format("{}: {}", lease_->name, std::generic_category().message(code));
  timer_.arm(owner_.worker().loop(), 0);
}

// ---- both ways ----------------------------------------------------------------------------------

void UdpSession::from_client(const quic::ReceivedDatagram& datagram) {
  last_ = owner_.worker().loop().now();
  bytes_in_ += datagram.bytes.size();
  send(datagram.bytes, datagram.ecn);
}

bool UdpSession::header_due() const {
  if (send_proxy_ == 0) return false;
  return header_sent_ == kNever ||
         (!answered() && owner_.worker().loop().now() - header_sent_ > kHeaderAgain);
}

// In front of a datagram, in the same one: they cannot be lost or overtaken singly.
std::string UdpSession::proxy_header() const {
  proxy_protocol::Header header;
  header.is_datagram = true;
  header.source = peer_;
  header.destination = local_;
  return proxy_protocol::write_version2(header);
}

void UdpSession::send(Bytes bytes, uint8_t ecn) {
  if (!socket_) return;
  int code = 0;
  if (header_due()) {
    const std::string header = proxy_header();
    header_sent_ = owner_.worker().loop().now();
    code = socket_->send_joined(as_bytes(header), bytes, ecn);
  } else {
    code = socket_->send(bytes, bytes.size(), ecn);
  }
  if (code != 0) note_error(code);
}

void UdpSession::on_events(uint32_t events) {
  if ((events & kError) != 0) {
    if (const int code = net::socket_error(socket_->fd()); code != 0) note_error(code);
  }
  if ((events & kReadable) == 0) return;
  bool more = true;
  for (int i = 0; i < kReceiveCalls && more; ++i) {
    more = receiver_->receive([this](Bytes bytes, const net::Address&, const net::Address&,
                                     uint8_t ecn) { from_server(bytes, ecn); });
  }
}

void UdpSession::from_server(Bytes bytes, uint8_t ecn) {
  last_ = owner_.worker().loop().now();
  if (!answered()) {
    answered_at_ = last_;
    first_ = {};
    refused_ = false;
    owner_.note_answered(*this);
  }
  bytes_out_ += bytes.size();
  owner_.send(local_, peer_, bytes, ecn);
}

// ---- time ---------------------------------------------------------------------------------------

void UdpSession::hurry() {
  timeout_ = std::min(timeout_, kHurry);
  timer_.arm_at(owner_.worker().loop(), last_ + timeout_);
}

void UdpSession::on_timer() {
  const Nanos now = owner_.worker().loop().now();
  if (std::exchange(refused_, false)) {
    lease_.note_failure(now);
    close_socket();
    if (first_.empty() || !try_servers()) return owner_.end(*this, why_);
    send(as_bytes(first_), first_ecn_);
  }
  if (refused_) return;  // again: the timer is armed for it
  if (now < last_ + timeout_) {
    timer_.arm_at(owner_.worker().loop(), last_ + timeout_);
    return;
  }
  owner_.end(*this, answered() ? std::string_view{} : "the server did not answer");
}

void UdpSession::record(std::string_view why) const {
  Worker& worker = owner_.worker();
  if (count_ != nullptr) {
    count_->bytes_in.add(bytes_in_);
    count_->bytes_out.add(bytes_out_);
  }
  record::Recorder& recorder = worker.recorder();
  if (!recorder.enabled()) return;
  const std::string client = peer_.ip();
  record::AccessRecord line;
  line.duration = worker.loop().now() - began_;
  line.time = wall_now() - line.duration;
  line.client = client;
  line.client_port = peer_.port();
  line.listener = owner_.view().settings.name;
  line.http_version = "stream/udp";
  line.bytes_in = bytes_in_;
  line.bytes_out = bytes_out_;
  if (answered()) line.connect = answered_at_ - began_;
  line.route = owner_.view().settings.name;
  line.pool = pool_;
  if (lease_) line.backend = lease_.get()->name;
  line.reason = why;
  recorder.push(line);
}

}  // namespace pqedge::edge
