#include "edge/udp_passthrough.h"

#include "edge/worker.h"
#include "wire/quic/path.h"

namespace pqedge::edge {
namespace {

// Flows whose client has not shown that it receives at its address. Beyond it the oldest ends.
constexpr size_t kMaxHalfOpen = 2048;
// QUIC connections that one address and port of a client may have at once.
constexpr size_t kMaxOfPath = 8;
constexpr size_t kMaxRun = 60 * 1024;
constexpr size_t kMaxRunSegments = 64;  // UDP_MAX_SEGMENTS of older kernels

const counters::Counter kFollowed(
    "pqedge_passthrough_quic_followed_total",
    "QUIC connections that were followed to a new address of the client by the server's ID.");
const counters::Counter kUnfollowed(
    "pqedge_passthrough_quic_unfollowed_total",
    "Datagrams from an unknown address whose connection ID names neither us nor a server.");
const counters::Counter kFlowsEvicted(
    "pqedge_passthrough_quic_half_open_evicted_total",
    "QUIC connections that were ended since too many clients had not answered their server yet.");

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
  if (view_->one_udp_socket && !handed_over && worker_.pass_by_path(view_->address, datagram)) {
    return true;
  }
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

}  // namespace pqedge::edge
