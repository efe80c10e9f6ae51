#include "edge/worker.h"

#include <pthread.h>

#include <cerrno>
#include <format>

#include "base/memory.h"

namespace pqedge::edge {
namespace {

// Exchanges kept for use again: about 4.5 KiB each.
constexpr size_t kKeptExchanges = 1024;
// Listeners that a reload took away go with their last client.
constexpr Nanos kClosingLook = 200 * kMillisecond;
// Datagrams on their way between workers; more are dropped, as a network would.
constexpr uint32_t kMaxHandedOver = 4096;

const counters::Counter kHandedOver("pqedge_quic_handed_over_total",
                                    "Datagrams passed to the worker that owns their connection.");
const counters::Counter kExchanges("pqedge_requests_open", "Requests under way.", {},
                                   counters::Kind::gauge);
const counters::Counter kHandOverDropped("pqedge_quic_hand_over_dropped_total",
                                         "Datagrams dropped on their way between workers.");

}  // namespace

Result<std::unique_ptr<Worker>> Worker::create(Shared& shared, uint16_t index, uint32_t workers) {
  auto loop = net::Loop::create();
  if (!loop) return std::unexpected(loop.error());
  return std::unique_ptr<Worker>(new Worker(shared, index, workers, std::move(*loop)));
}

Worker::Worker(Shared& shared, uint16_t index, uint32_t workers, std::unique_ptr<net::Loop> loop)
    : shared_(shared),
      index_(index),
      loop_(std::move(loop)),
      backends_(*loop_, shared.servers, workers),
      shadows_(*loop_),
      closing_look_([](void* self) { static_cast<Worker*>(self)->close_unused_listeners(); }, this),
      clear_retired_([](void* self) { static_cast<Worker*>(self)->clear_retired(); }, this),
      resume_waiting_([](void* self) { static_cast<Worker*>(self)->resume_waiting(); }, this),
      neighbours_(*this),
      udp_streams_(*this) {}

Worker::~Worker() = default;

void Worker::start() {
  thread_ = std::thread([this] {
    pthread_setname_np(pthread_self(), std::format("worker/{}", index_).c_str());
    loop_->run();
    // What lives here is freed here: chunks and counters belong to the thread.
    connections_.for_each([](ClientConnection& c) { delete &c; });
    for (auto* list : {&active_, &retired_, &free_}) {
      while (!list->empty()) delete &list->front();
    }
    shadows_.clear();
    tcp_.clear();
    quic_.clear();
    closing_quic_.clear();
    udp_streams_.clear();
    backends_.close_all();
    snapshot_ = {};
  });
}

void Worker::join() {
  if (thread_.joinable()) thread_.join();
}

// Those whose sockets are new. Until the turn ends none of them hears anything.
Result<Worker::Listeners> Worker::make_listeners(
    ListenerPlan& plan, const Snapshot& snapshot,
    const std::shared_ptr<crypto::ServerContexts>& contexts) {
  Listeners fresh;
  for (ListenerPlan::Entry& e : plan.entries) {
    const std::string key = e.view->address.to_string();
    if (e.tcp && !(e.view->settings.binds_tcp() && tcp_.contains(key))) {
      auto made = TcpListener::create(*this, e.view, std::move(e.tcp));
      if (!made) return std::unexpected(made.error());
      fresh.tcp[key] = std::move(*made);
    }
    if (e.view->settings.http3 && e.udp.fd && !quic_.contains(key)) {
      auto made =
          QuicListener::create(*this, e.view, std::move(e.udp), e.read_udp, snapshot, contexts);
      if (!made) return std::unexpected(made.error());
      fresh.quic[key] = std::move(*made);
    }
  }
  auto udp = udp_streams_.make(plan);
  if (!udp) return std::unexpected(udp.error());
  fresh.udp = std::move(*udp);
  return fresh;
}

void Worker::apply(std::shared_ptr<const Snapshot> snapshot,
                   std::shared_ptr<crypto::ServerContexts> contexts, ListenerPlan plan,
                   const Agreed& agreed) {
  auto fresh = make_listeners(plan, *snapshot, contexts);
  Result<void> can;
  if (!fresh) can = std::unexpected(fresh.error());
  if (!agreed(std::move(can))) return;

  snapshot_ = SnapshotRef(new WorkerSnapshot(std::move(snapshot), std::move(contexts), backends_,
                                             shared_.members,
                                             static_cast<uint32_t>(shared_.workers.size())));
  if (certificates_ != nullptr && snapshot_->contexts() != nullptr) {
    snapshot_->contexts()->set_certificates(certificates_);
  }
  backends_.forget_unused();

  auto old_tcp = std::exchange(tcp_, std::move(fresh->tcp));
  auto old_quic = std::exchange(quic_, std::move(fresh->quic));
  for (auto& [key, listener] : quic_) listener->begin();
  for (const ListenerPlan::Entry& e : plan.entries) {
    const std::string key = e.view->address.to_string();
    if (auto it = old_tcp.find(key); it != old_tcp.end() && e.view->settings.binds_tcp()) {
      it->second->update(e.view);
      tcp_[key] = std::move(it->second);
      old_tcp.erase(it);
    }
    if (auto it = old_quic.find(key); it != old_quic.end() && e.view->settings.http3) {
      it->second->update(e.view);
      quic_[key] = std::move(it->second);
      old_quic.erase(it);
    }
  }
  for (auto& [key, listener] : old_tcp) listener->close();
  for (auto& [key, listener] : old_quic) {
    listener->stop_accepting();
    closing_quic_.push_back(std::move(listener));
  }
  udp_streams_.apply(plan, std::move(fresh->udp));
  close_unused_listeners();
}

void Worker::close_unused_listeners() {
  std::erase_if(closing_quic_, [](const auto& l) { return l->connections() == 0; });
  udp_streams_.close_unused();
  if (!closing_quic_.empty() || udp_streams_.closing()) closing_look_.arm(*loop_, kClosingLook);
}

void Worker::set_certificates(std::shared_ptr<const crypto::CertificateStore> store) {
  certificates_ = std::move(store);
  if (snapshot_ && snapshot_->contexts() != nullptr) {
    snapshot_->contexts()->set_certificates(certificates_);
  }
}

void Worker::drain(Nanos linger) {
  draining_ = true;
  linger_ = linger;
  for (auto& [key, listener] : tcp_) listener->close();
  tcp_.clear();
  for (auto& [key, listener] : quic_) listener->stop_accepting();
  udp_streams_.stop_accepting();
  connections_.for_each([&](ClientConnection& c) { c.drain(linger); });
}

void Worker::close_connections() {
  connections_.for_each([](ClientConnection& c) { c.close_now(); });
  for (auto& [key, listener] : quic_) listener->cut_passthrough("cut at shutdown");
  for (auto& listener : closing_quic_) listener->cut_passthrough("cut at shutdown");
  udp_streams_.cut("cut at shutdown");
}

Exchange& Worker::new_exchange(http::ServerStream& stream, const ListenerView& listener) {
  Exchange* e;
  if (!free_.empty()) {
    e = &free_.pop_front();
    --free_count_;
  } else {
    e = new Exchange(*this);
  }
  active_.push_back(*e);
  kExchanges.add();
  e->begin(stream, listener);
  return *e;
}

void Worker::retire(Exchange& exchange) {
  retired_.push_back(exchange);
  loop_->defer(clear_retired_);
}

void Worker::clear_retired() {
  while (!retired_.empty()) {
    Exchange& e = retired_.pop_front();
    e.clear();
    kExchanges.subtract();
    if (free_count_ >= kKeptExchanges) {
      delete &e;
      continue;
    }
    free_.push_front(e);
    ++free_count_;
  }
}

void Worker::resume_waiting() {
  IntrusiveList<Exchange, HandshakeTag> batch;
  batch.splice_back(waiting_);
  while (!batch.empty()) {
    Exchange& e = batch.pop_front();
    if (e.facts().handshake_pending) {
      waiting_.push_back(e);
    } else {
      e.resume();
    }
  }
}

bool Worker::may_open_connection() const {
  return shared_.connections.load(std::memory_order_relaxed) <
             shared_.max_connections.load(std::memory_order_relaxed) &&
         !memory::refusing();
}

void Worker::add_connection(ClientConnection& connection) {
  connections_.push_back(connection);
  ++connection_count_;
  shared_.connections.fetch_add(1, std::memory_order_relaxed);
}

void Worker::remove_connection(ClientConnection& connection) {
  connection.unlink();
  --connection_count_;
  shared_.connections.fetch_sub(1, std::memory_order_relaxed);
}

void Worker::warn_out_of_descriptors(int code) {
  if (last_descriptor_warning_ != 0 && loop_->now() - last_descriptor_warning_ < kSecond) return;
  last_descriptor_warning_ = loop_->now();
  const bool descriptors = code == EMFILE || code == ENFILE;
  log::error("listener",
             "cannot accept: {}; new connections wait. Raise {}, or lower server.max_connections",
             std::generic_category().message(code),
             descriptors ? "RLIMIT_NOFILE (LimitNOFILE=)" : "the process's memory");
}

bool Worker::pass_by_path(const net::Address& listener, const quic::ReceivedDatagram& datagram) {
  const PathKey key(datagram.peer, datagram.local);
  const auto mac = shared_.quic_keys->reset_token(key.bytes);
  const auto index = static_cast<uint16_t>(load_be32(mac.data()) % shared_.workers.size());
  if (index == index_) return false;
  hand_over({shared_.generation, index}, listener, datagram);
  return true;
}

void Worker::hand_over(const quic::Owner& owner, const net::Address& listener,
                       const quic::ReceivedDatagram& datagram) {
  if (!is_here(owner)) {
    kHandOverDropped.add();
    return;
  }
  if (neighbours_.is_of_predecessor(owner)) {
    neighbours_.hand_over(owner, listener, datagram);
    return;
  }
  Worker& other = *shared_.workers[owner.worker];
  if (other.handed_over_waiting_.fetch_add(1, std::memory_order_relaxed) >= kMaxHandedOver) {
    other.handed_over_waiting_.fetch_sub(1, std::memory_order_relaxed);
    kHandOverDropped.add();
    return;
  }
  kHandedOver.add();
  // The bytes are copied: the receive buffer is used again at once.
  struct Copy {
    std::string bytes;
    net::Address listener, peer, local;
    uint8_t ecn;
  };
  auto copy = std::make_shared<Copy>(std::string(as_text(datagram.bytes)), listener, datagram.peer,
                                     datagram.local, datagram.ecn);
  other.loop().post([&other, copy] {
    other.handed_over_waiting_.fetch_sub(1, std::memory_order_relaxed);
    other.receive_handed_over(copy->listener,
                              {as_bytes(copy->bytes), copy->peer, copy->local, copy->ecn});
  });
}

void Worker::receive_handed_over(const net::Address& listener,
                                 const quic::ReceivedDatagram& datagram) {
  if (QuicListener* l = quic_listener(listener)) return l->receive_handed_over(datagram);
  if (UdpStream* s = udp_streams_.find(listener)) s->receive_handed_over(datagram);
}

}  // namespace pqedge::edge
