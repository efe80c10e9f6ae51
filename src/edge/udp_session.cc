// One client of a UDP listener.
#include <algorithm>

#include "edge/udp_stream.h"
#include "edge/worker.h"

namespace pqedge::edge {
namespace {

// What is kept of a first datagram, to be sent to another server.
constexpr size_t kMostKept = 4096;
constexpr uint32_t kMostTries = 8;
constexpr Nanos kHurry = 500 * kMillisecond;

const UdpServerSocket::Kind kSessionSocket{
    .receive_buffer = 256 * 1024,
    .fragments = true,
    .lost = counters::Counter("pqedge_stream_udp_lost_total",
                              "Datagrams of UDP listeners that could not be sent to a server."),
    .unreachable = {}};

}  // namespace

UdpSession::UdpSession(UdpStream& owner, const net::Address& peer, const net::Address& local)
    : key(peer, local),
      owner_(owner),
      peer_(peer),
      local_(local),
      server_(owner.worker(), *this, kSessionSocket, peer, local),
      began_(owner.worker().loop().now()),
      last_(began_),
      timer_([](void* self) { static_cast<UdpSession*>(self)->on_timer(); }, this) {}

// ---- the server ---------------------------------------------------------------------------------

bool UdpSession::begin(const quic::ReceivedDatagram& first) {
  const ListenerSettings& listener = owner_.view().settings;
  const RoutePlan& plan = owner_.worker().snapshot()->shared().plan_for_stream(listener.name);
  if (plan.settings == nullptr) return false;
  upstream::Pool& pool = owner_.worker().snapshot()->pool(plan.pool);
  count_ = plan.stream;
  pool_ = pool.settings().name;
  if (pool.settings().send_proxy != 0) server_.announce_client({});
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
  server_.send(first.bytes, first.bytes.size(), first.ecn);
  timer_.arm_at(owner_.worker().loop(), last_ + timeout_);
  if (!owner_.accepting()) hurry();
  return true;
}

// Those of the pool as it is now: it may have changed since the session began.
bool UdpSession::try_servers() {
  Worker& worker = owner_.worker();
  const RoutePlan& plan = worker.snapshot()->shared().plan_for_stream(owner_.view().settings.name);
  if (plan.settings == nullptr) return false;
  upstream::Pool& pool = worker.snapshot()->pool(plan.pool);
  return server_.open_one_of([&]() -> std::shared_ptr<upstream::ServerState> {
    if (tries_ >= kMostTries) return nullptr;
    ++tries_;
    auto server = pool.pick(choice_);
    if (server == nullptr || choice_.avoids(server.get())) return nullptr;
    choice_.avoid(server.get());
    return server;
  });
}

void UdpSession::on_server_unreachable() {
  if (first_.empty() || !try_servers()) return owner_.end(*this, server_.why());
  server_.send(as_bytes(first_), first_.size(), first_ecn_);
}

// ---- both ways ----------------------------------------------------------------------------------

void UdpSession::from_client(const quic::ReceivedDatagram& datagram) {
  last_ = owner_.worker().loop().now();
  bytes_in_ += datagram.bytes.size();
  server_.send(datagram.bytes, datagram.bytes.size(), datagram.ecn);
}

void UdpSession::on_server_datagram(Bytes bytes, uint8_t ecn, bool first) {
  last_ = owner_.worker().loop().now();
  if (first) {
    first_ = {};
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
  if (owner_.worker().loop().now() < last_ + timeout_) {
    timer_.arm_at(owner_.worker().loop(), last_ + timeout_);
    return;
  }
  owner_.end(*this, server_.answered() ? "" : "the server did not answer");
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
  if (server_.answered()) line.connect = server_.answered_at() - began_;
  line.route = owner_.view().settings.name;
  line.pool = pool_;
  line.backend = server_.server();
  line.reason = why;
  recorder.push(line);
}

}  // namespace pqedge::edge
