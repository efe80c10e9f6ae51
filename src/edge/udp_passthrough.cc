#include "edge/udp_passthrough.h"

#include <algorithm>

#include "base/log.h"
#include "crypto/client_hello.h"
#include "crypto/server_name.h"
#include "edge/worker.h"
#include "wire/quic/initial_reader.h"
#include "wire/quic/path.h"

namespace pqedge::edge {
namespace {

// RFC 9000 14.1: a datagram with a client's Initial is never smaller.
constexpr size_t kLeastInitial = 1200;
// Flows whose client has not shown that it receives at its address. Beyond it the oldest ends.
constexpr size_t kMaxHalfOpen = 2048;
// QUIC connections that one address and port of a client may have at once.
constexpr size_t kMaxOfPath = 8;
constexpr size_t kMaxRun = 60 * 1024;
constexpr size_t kMaxRunSegments = 64;  // UDP_MAX_SEGMENTS of older kernels

counters::Counter hellos(const char* outcome) {
  return counters::Counter("pqedge_passthrough_quic_hellos_total",
                           "QUIC hellos read on listeners with a passthrough, by outcome.",
                           {{"outcome", outcome}});
}
const counters::Counter kPassed = hellos("passed_on");
const counters::Counter kOurs = hellos("ours");
const counters::Counter kBroken = hellos("broken");
const counters::Counter kExpired = hellos("expired");
const counters::Counter kEvicted = hellos("evicted");
const counters::Counter kFollowed(
    "pqedge_passthrough_quic_followed_total",
    "QUIC connections that were followed to a new address of the client by the server's ID.");
const counters::Counter kUnfollowed(
    "pqedge_passthrough_quic_unfollowed_total",
    "Datagrams from an unknown address whose connection ID names neither us nor a server.");
const counters::Counter kFlowsEvicted(
    "pqedge_passthrough_quic_half_open_evicted_total",
    "QUIC connections that were ended since too many clients had not answered their server yet.");

std::string host_of(Bytes message) {
  std::string host;
  const auto hello = crypto::parse_client_hello(message);
  if (hello && hello->has_server_name) crypto::judge_server_name(hello->server_name, host);
  return host;
}

bool is_long(const quic::ReceivedDatagram& d) { return quic::is_long_header(d.bytes[0]); }

}  // namespace

UdpPassthrough::UdpPassthrough(Worker& worker, http3::Listener& listener,
                               std::shared_ptr<const ListenerView> view)
    : worker_(worker),
      listener_(listener),
      view_(std::move(view)),
      pending_(half_open_time()),
      expiry_([](void* self) { static_cast<UdpPassthrough*>(self)->expire(); }, this) {
  listener_.set_filter(this);
}

UdpPassthrough::~UdpPassthrough() {
  listener_.set_filter(nullptr);
  cut("cut at shutdown");
}

void UdpPassthrough::update(std::shared_ptr<const ListenerView> view) {
  view_ = std::move(view);
  pending_.set_lifetime(half_open_time());
}

void UdpPassthrough::stop_accepting() {
  accepting_ = false;
  pending_.clear();
}

void UdpPassthrough::cut(std::string_view why) {
  while (!all_.empty()) end(all_.front(), why);
}

Nanos UdpPassthrough::half_open_time() const {
  return worker_.snapshot()->shared().settings.quic.handshake_timeout;
}

// ---- a datagram ---------------------------------------------------------------------------------

bool UdpPassthrough::take(const quic::ReceivedDatagram& datagram, Bytes id, bool handed_over) {
  const PathKey key(datagram.peer, datagram.local);
  UdpFlow* newest = newest_flow(key);
  bool proven = false;
  if (UdpFlow* flow = flow_of(newest, datagram, id, proven); flow != nullptr) {
    forward(*flow, datagram, proven);
    return true;
  }
  // Also the ID that our Retry gave: what follows it is ours, and needs no second decision.
  if (worker_.shared().quic_keys->owner_of(id, quic::kServerId)) return false;
  if (is_another_workers(key, datagram, handed_over)) return true;
  if (is_long(datagram)) return take_long(datagram, key, newest);
  if (newest == nullptr) return take_short(datagram, key);
  forward(*newest, datagram, false);
  return true;
}

UdpFlow* UdpPassthrough::newest_flow(const PathKey& key) const {
  const auto it = paths_.find(key);
  return it == paths_.end() ? nullptr : it->second;
}

UdpFlow* UdpPassthrough::flow_of(UdpFlow* newest, const quic::ReceivedDatagram& datagram, Bytes id,
                                 bool& proven) const {
  for (UdpFlow* f = newest; f != nullptr; f = f->next_of_path) {
    proven = is_long(datagram) ? f->server_ids.contains(id)
                               : f->server_ids.any_begins(datagram.bytes.subspan(1));
    if (proven || (is_long(datagram) && f->client_ids.contains(id))) return f;
  }
  return nullptr;
}

// All workers read from one socket: whoever gets a datagram hands it to the one that the client's
// address names.
bool UdpPassthrough::is_another_workers(const PathKey& key, const quic::ReceivedDatagram& datagram,
                                        bool handed_over) {
  if (!view_->one_udp_socket || handed_over) return false;
  Shared& shared = worker_.shared();
  const auto mac = shared.quic_keys->reset_token(key.bytes);
  const auto index = static_cast<uint16_t>(load_be32(mac.data()) % shared.workers.size());
  if (index == worker_.index()) return false;
  worker_.hand_over({shared.generation, index}, view_->address, datagram);
  return true;
}

// An address that is not known here: perhaps a client that has moved.
bool UdpPassthrough::take_short(const quic::ReceivedDatagram& datagram, const PathKey& key) {
  if (!accepting_ || !view_->passes_on(PassthroughTransport::udp)) return false;
  const Bytes id = datagram.bytes.subspan(1);
  PassthroughTable::Followed found = view_->passthrough->follow(id);
  if (found.server == nullptr || !worker_.may_open_connection() || !room_for_flow(key)) {
    kUnfollowed.add();
    return false;
  }
  UdpFlow& flow = insert(std::make_unique<UdpFlow>(*this, std::move(found.passthrough),
                                                   datagram.peer, datagram.local, std::string()));
  flow.server_ids.add(id.first(found.known));
  if (auto ok = flow.follow(std::move(found.server)); !ok) {
    end(flow, ok.error().message);
    return true;
  }
  kFollowed.add();
  forward(flow, datagram, false);
  return true;
}

bool UdpPassthrough::take_long(const quic::ReceivedDatagram& datagram, const PathKey& key,
                               UdpFlow* newest) {
  const auto header = quic::read_long_header(datagram.bytes);
  if (!header) return false;  // of another version, or damaged: the listener answers, or drops it
  switch (header->type) {
    case quic::LongType::handshake:
      if (newest == nullptr) return false;
      forward(*newest, datagram, false);
      return true;
    case quic::LongType::retry:
      return false;
    case quic::LongType::zero_rtt:
    case quic::LongType::initial:
      break;
  }
  if (!accepting_ || !view_->passes_on(PassthroughTransport::udp) ||
      !worker_.may_open_connection()) {
    return false;
  }
  return header->type == quic::LongType::initial
             ? take_initial(datagram, key, *header)
             : take_early(datagram, key, header->destination);
}

// 0-RTT that overtook the hello.
bool UdpPassthrough::take_early(const quic::ReceivedDatagram& datagram, const PathKey& key,
                                Bytes id) {
  PendingHello* pending = pending_.find(key, id);
  if (pending == nullptr) pending = &pending_.make(key, id, worker_.loop().now());
  pending_.keep(*pending, datagram, false);
  arm_expiry();
  return true;
}

bool UdpPassthrough::take_initial(const quic::ReceivedDatagram& datagram, const PathKey& key,
                                  const quic::LongHeader& header) {
  if (datagram.bytes.size() < kLeastInitial) return false;
  PendingHello* pending = pending_.find(key, header.destination);
  std::unique_ptr<quic::InitialReader> fresh;
  if (pending == nullptr || pending->reader == nullptr) {
    fresh = std::make_unique<quic::InitialReader>(header.version, header.destination);
  }
  quic::InitialReader& reader = fresh != nullptr ? *fresh : *pending->reader;
  const size_t before = reader.packets();
  const quic::InitialReader::State state = reader.take(datagram.bytes);
  if (state == quic::InitialReader::State::whole) {
    auto taken = pending == nullptr ? nullptr : pending_.take(*pending);
    return decide(reader, std::move(taken), datagram, header);
  }
  if (state == quic::InitialReader::State::broken) {
    kBroken.add();
    log::debug("passthrough", "{}: {}", datagram.peer.ip(), reader.fault());
    if (pending != nullptr) pending_.take(*pending);
    return true;
  }
  if (reader.packets() == before) return true;  // not sealed with its keys: noise
  if (pending == nullptr) {
    pending = &pending_.make(key, header.destination, worker_.loop().now());
  }
  if (fresh != nullptr) pending->reader = std::move(fresh);
  if (!pending_.keep(*pending, datagram, true)) {
    kBroken.add();
    pending_.take(*pending);
  }
  arm_expiry();
  return true;
}

// ---- the decision -------------------------------------------------------------------------------

// `reader` may be the pending hello's. A hello that is malformed is left to the TLS stack, which
// refuses it by the same reader.
bool UdpPassthrough::decide(const quic::InitialReader& reader,
                            std::unique_ptr<PendingHello> pending,
                            const quic::ReceivedDatagram& datagram,
                            const quic::LongHeader& header) {
  std::string host = host_of(reader.message());
  auto passthrough = view_->passthrough->find(PassthroughTransport::udp, host);
  if (passthrough != nullptr) {
    kPassed.add();
    begin_flow(std::move(passthrough), std::move(host), std::move(pending), datagram,
               header.destination);
    return true;
  }
  kOurs.add();
  if (pending == nullptr) return false;
  deliver(std::move(pending), datagram);
  return true;
}

void UdpPassthrough::deliver(std::unique_ptr<PendingHello> pending,
                             const quic::ReceivedDatagram& datagram) {
  for (const KeptDatagram& d : pending->initials) listener_.receive_unfiltered(d.view());
  listener_.receive_unfiltered(datagram);
  for (const KeptDatagram& d : pending->others) listener_.receive_unfiltered(d.view());
}

void UdpPassthrough::begin_flow(PassthroughRef passthrough, std::string host,
                                std::unique_ptr<PendingHello> pending,
                                const quic::ReceivedDatagram& datagram, Bytes id) {
  if (!room_for_flow(PathKey(datagram.peer, datagram.local))) return;
  std::vector<KeptDatagram> first_flight;
  if (pending != nullptr) first_flight = std::move(pending->initials);
  first_flight.emplace_back(datagram);
  if (pending != nullptr) {
    std::ranges::move(pending->others, std::back_inserter(first_flight));
  }
  UdpFlow& flow = insert(std::make_unique<UdpFlow>(*this, std::move(passthrough), datagram.peer,
                                                   datagram.local, std::move(host)));
  flow.client_ids.add(id);
  if (auto ok = flow.begin(std::move(first_flight)); !ok) {
    listener_.refuse(datagram);
    end(flow, ok.error().message);
  }
}

// ---- the flows ----------------------------------------------------------------------------------

bool UdpPassthrough::room_for_flow(const PathKey& key) {
  size_t of_path = 0;
  for (UdpFlow* f = newest_flow(key); f != nullptr; f = f->next_of_path) ++of_path;
  if (of_path >= kMaxOfPath) return false;
  if (half_open_count_ >= kMaxHalfOpen) {
    kFlowsEvicted.add();
    end(half_open_.front(), "too many clients had not answered yet");
  }
  return true;
}

UdpFlow& UdpPassthrough::insert(std::unique_ptr<UdpFlow> made) {
  UdpFlow& flow = *made.release();
  all_.push_back(flow);
  half_open_.push_back(flow);
  ++half_open_count_;
  ++flow_count_;
  UdpFlow*& newest = paths_[flow.key];
  flow.next_of_path = newest;
  newest = &flow;
  worker_.shared().connections.fetch_add(1, std::memory_order_relaxed);
  return flow;
}

void UdpPassthrough::note_proven(UdpFlow& flow) {
  static_cast<ListNode<HalfOpenTag>&>(flow).unlink();
  --half_open_count_;
}

void UdpPassthrough::end(UdpFlow& flow, std::string_view why) {
  flow.finish(why);
  if (run_.flow == &flow) run_ = {};
  const auto it = paths_.find(flow.key);
  UdpFlow** link = &it->second;
  while (*link != &flow) link = &(*link)->next_of_path;
  *link = flow.next_of_path;
  if (it->second == nullptr) paths_.erase(it);
  if (flow.half_open()) --half_open_count_;
  --flow_count_;
  worker_.shared().connections.fetch_sub(1, std::memory_order_relaxed);
  delete &flow;
}

void UdpPassthrough::forward(UdpFlow& flow, const quic::ReceivedDatagram& d, bool proven) {
  flow.note_client(d, proven);
  const bool joins = run_.flow == &flow && !run_.closed && run_.ecn == d.ecn &&
                     d.bytes.data() == run_.bytes.data() + run_.bytes.size() &&
                     d.bytes.size() <= run_.segment &&
                     run_.bytes.size() + d.bytes.size() <= kMaxRun &&
                     run_.bytes.size() < run_.segment * (kMaxRunSegments - 1);
  if (joins) {
    run_.bytes = {run_.bytes.data(), run_.bytes.size() + d.bytes.size()};
    run_.closed = d.bytes.size() < run_.segment;
    return;
  }
  flush_run();
  run_ = {.flow = &flow, .bytes = d.bytes, .segment = d.bytes.size(), .ecn = d.ecn};
}

void UdpPassthrough::flush_run() {
  const Run run = std::exchange(run_, {});
  if (run.flow != nullptr) run.flow->send(run.bytes, run.segment, run.ecn);
}

void UdpPassthrough::end_of_batch() { flush_run(); }

void UdpPassthrough::on_room() {
  while (!stalled_.empty()) stalled_.pop_front().resume();
}

// ---- time ---------------------------------------------------------------------------------------

void UdpPassthrough::expire() {
  kExpired.add(pending_.expire(worker_.loop().now()));
  arm_expiry();
}

void UdpPassthrough::arm_expiry() {
  if (pending_.evicted() != evicted_seen_) {
    kEvicted.add(pending_.evicted() - evicted_seen_);
    evicted_seen_ = pending_.evicted();
  }
  const Nanos due = pending_.next_deadline();
  if (due != kNever && (!expiry_.armed() || expiry_.deadline() > due)) {
    expiry_.arm_at(worker_.loop(), due);
  }
}

}  // namespace pqedge::edge
