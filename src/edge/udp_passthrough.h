// A UDP socket's QUIC connections that are passed on, beside those that are ours (T13): reads the
// hello from the client's Initial packets, decides by its name, and forwards.
//
// A datagram gets here when its connection ID is none of ours. Then, in this order: a flow of the
// same addresses that knows the ID; an ID that this deployment made (it is ours, perhaps another
// worker's); the newest flow of the same addresses; an ID that names a server; a new hello.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/intrusive_list.h"
#include "edge/listener_view.h"
#include "edge/pending_hellos.h"
#include "edge/udp_flow.h"
#include "net/loop.h"
#include "wire/http3/listener.h"
#include "wire/quic/datagram_filter.h"
#include "wire/quic/long_header.h"

namespace pqedge::edge {

class Worker;

class UdpPassthrough final : public quic::DatagramFilter {
 public:
  UdpPassthrough(Worker& worker, http3::Listener& listener,
                 std::shared_ptr<const ListenerView> view);
  ~UdpPassthrough();

  // For flows made from now on.
  void update(std::shared_ptr<const ListenerView> view);
  // What runs goes on; a hello that comes now is the listener's to refuse.
  void stop_accepting();
  size_t flows() const { return flow_count_; }
  void cut(std::string_view why);

  bool take(const quic::ReceivedDatagram& datagram, Bytes id, bool handed_over) override;
  void end_of_batch() override;
  void on_room() override;

  // ---- for its flows
  Worker& worker() { return worker_; }
  http3::Listener& listener() { return listener_; }
  const ListenerView& view() const { return *view_; }
  void note_stalled(UdpFlow& flow) { stalled_.push_back(flow); }
  void note_proven(UdpFlow& flow);
  void end(UdpFlow& flow, std::string_view why);  // destroys it
  Nanos half_open_time() const;

 private:
  // Datagrams of one flow that lie in a row in the receive buffer: they leave in one call.
  struct Run {
    UdpFlow* flow = nullptr;
    Bytes bytes;
    size_t segment = 0;
    uint8_t ecn = 0;
    bool closed = false;  // its last datagram is a shorter one
  };

  UdpFlow* newest_flow(const PathKey& key) const;
  UdpFlow* flow_of(UdpFlow* newest, const quic::ReceivedDatagram& datagram, Bytes id,
                   bool& proven) const;
  void forward(UdpFlow& flow, const quic::ReceivedDatagram& datagram, bool proven);
  bool take_short(const quic::ReceivedDatagram& datagram, const PathKey& key);
  // udp_passthrough_hello.cc
  bool take_long(const quic::ReceivedDatagram& datagram, const PathKey& key, UdpFlow* newest);
  bool take_early(const quic::ReceivedDatagram& datagram, const PathKey& key, Bytes id);
  bool take_initial(const quic::ReceivedDatagram& datagram, const PathKey& key,
                    const quic::LongHeader& header);
  bool decide(const quic::InitialReader& reader, std::unique_ptr<PendingHello> pending,
              const quic::ReceivedDatagram& datagram, const quic::LongHeader& header);
  void deliver(std::unique_ptr<PendingHello> pending, const quic::ReceivedDatagram& datagram);
  void begin_flow(PassthroughRef passthrough, std::string host,
                  std::unique_ptr<PendingHello> pending, const quic::ReceivedDatagram& datagram,
                  Bytes id);
  bool room_for_flow(const PathKey& key);
  UdpFlow& insert(std::unique_ptr<UdpFlow> flow);
  void flush_run();
  void expire();
  void arm_expiry();

  Worker& worker_;
  http3::Listener& listener_;
  std::shared_ptr<const ListenerView> view_;
  PendingHellos pending_;
  net::Timer expiry_;
  std::unordered_map<PathKey, UdpFlow*, PathHash> paths_;  // the newest of each
  IntrusiveList<UdpFlow, FlowTag> all_;                    // owned
  IntrusiveList<UdpFlow, HalfOpenTag> half_open_;          // oldest first
  IntrusiveList<UdpFlow, StalledTag> stalled_;
  size_t flow_count_ = 0;
  size_t half_open_count_ = 0;
  uint64_t evicted_seen_ = 0;
  Run run_;
  bool accepting_ = true;
};

}  // namespace pqedge::edge
