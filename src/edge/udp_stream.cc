#include "edge/udp_stream.h"

#include <algorithm>

#include "base/bytes.h"
#include "edge/worker.h"

namespace pqedge::edge {
namespace {

constexpr int kStreamReceiveCalls = 4;  // system calls of one turn

const counters::Counter kStreamDropped(
    "pqedge_stream_udp_dropped_total",
    "Datagrams of UDP listeners dropped: a socket was full, there was "
    "no room for another client, or no server.");
const counters::Counter kSessions("pqedge_stream_udp_sessions", "Clients of UDP listeners, now.",
                                  {}, counters::Kind::gauge);

}  // namespace

Result<std::unique_ptr<UdpStream>> UdpStream::create(Worker& worker,
                                                     std::shared_ptr<const ListenerView> view,
                                                     net::UdpSocket socket, bool reading) {
  allow_fragments(socket.fd.get());
  std::unique_ptr<UdpStream> stream(new UdpStream(worker, std::move(view), std::move(socket)));
  if (auto ok = stream->set_reading(reading); !ok) return std::unexpected(ok.error());
  return stream;
}

UdpStream::UdpStream(Worker& worker, std::shared_ptr<const ListenerView> view,
                     net::UdpSocket socket)
    : worker_(worker),
      view_(std::move(view)),
      socket_(std::move(socket)),
      receiver_(socket_.fd.get(), view_->address),
      sender_(worker.loop(), socket_, view_->address, true, [](void*) {}, nullptr) {}

UdpStream::~UdpStream() {
  cut("cut at shutdown");
  if (reading_) worker_.loop().remove(socket_.fd.get(), *this);
}

Result<void> UdpStream::set_reading(bool on) {
  if (on == reading_) return {};
  if (!on) {
    worker_.loop().remove(socket_.fd.get(), *this);
  } else if (auto added = worker_.loop().add(socket_.fd.get(), *this, true); !added) {
    return added;
  }
  reading_ = on;
  return {};
}

void UdpStream::stop_accepting() {
  accepting_ = false;
  all_.for_each([](UdpSession& session) { session.hurry(); });
}

void UdpStream::cut(std::string_view why) {
  while (!all_.empty()) end(all_.front(), why);
}

// ---- datagrams ----------------------------------------------------------------------------------

void UdpStream::on_events(uint32_t events) {
  if ((events & kError) != 0) static_cast<void>(net::socket_error(socket_.fd.get()));
  bool more = true;
  for (int i = 0; i < kStreamReceiveCalls && more; ++i) {
    more =
        receiver_.receive([this](Bytes bytes, const net::Address& peer, const net::Address& local,
                                 uint8_t ecn) { take({bytes, peer, local, ecn}, false); });
  }
}

void UdpStream::take(const quic::ReceivedDatagram& datagram, bool handed_over) {
  const PathKey key(datagram.peer, datagram.local);
  if (const auto it = by_path_.find(key); it != by_path_.end()) {
    return it->second->from_client(datagram);
  }
  if (!handed_over && view_->one_udp_socket && worker_.pass_by_path(view_->address, datagram)) {
    return;
  }
  if (!accepting_ || !worker_.may_open_connection() || !make_room()) return kStreamDropped.add();
  auto* session = new UdpSession(*this, datagram.peer, datagram.local);
  all_.push_back(*session);
  unanswered_.push_back(*session);
  by_path_[session->key] = session;
  ++count_;
  kSessions.add();
  worker_.shared().connections.fetch_add(1, std::memory_order_relaxed);
  if (!session->begin(datagram)) {
    kStreamDropped.add();
    end(*session, "no server of the pool takes datagrams");
  }
}

// Each worker has its share of the places. A client that no server has answered makes room first:
// its address may not be its own.
bool UdpStream::make_room() {
  const size_t workers = std::max<size_t>(1, worker_.shared().workers.size());
  const size_t most = (view_->settings.stream.udp_sessions + workers - 1) / workers;
  if (count_ < most) return true;
  if (unanswered_.empty()) return false;
  end(unanswered_.front(), "there were too many clients, and no server had answered");
  return true;
}

bool UdpStream::send(const net::Address& local, const net::Address& peer, Bytes bytes,
                     uint8_t ecn) {
  const MutableBytes room = sender_.room(bytes.size());
  if (room.size() < bytes.size()) {
    kStreamDropped.add();
    return false;
  }
  std::ranges::copy(bytes, room.begin());
  sender_.commit(bytes.size(), bytes.size(), peer, local, ecn);
  return true;
}

void UdpStream::note_answered(UdpSession& session) {
  static_cast<ListNode<UnansweredTag>&>(session).unlink();
}

void UdpStream::end(UdpSession& session, std::string_view why) {
  session.record(why);
  by_path_.erase(session.key);
  --count_;
  kSessions.subtract();
  worker_.shared().connections.fetch_sub(1, std::memory_order_relaxed);
  delete &session;
}

}  // namespace pqedge::edge
