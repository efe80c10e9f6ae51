// One QUIC connection that is passed on: datagrams between a client and one server. Nothing of it
// is decrypted; what is known of it are addresses and the connection IDs of its long headers.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/intrusive_list.h"
#include "edge/passthrough.h"
#include "edge/pending_hellos.h"
#include "edge/udp_flow_key.h"
#include "net/connected_udp.h"
#include "net/facts.h"
#include "net/loop.h"
#include "net/udp_batch.h"
#include "wire/quic/keys.h"

namespace pqedge::edge {

class UdpPassthrough;
class UdpFlow;

struct HalfOpenTag;
struct StalledTag;
struct FlowTag;

class UdpFlow final : public net::EventSource,
                      public ListNode<FlowTag>,
                      public ListNode<HalfOpenTag>,
                      public ListNode<StalledTag> {
 public:
  UdpFlow(UdpPassthrough& owner, PassthroughRef passthrough, const net::Address& peer,
          const net::Address& local, std::string host);
  ~UdpFlow();

  // The flow begins with its first datagrams, which go to a server of the pool. An error: none can
  // be had.
  Result<void> begin(std::vector<KeptDatagram> first_flight);
  // The flow goes on from a new address of the client, with that server.
  Result<void> follow(std::shared_ptr<upstream::ServerState> server);

  // `bytes`: datagrams of `segment` bytes each, the last perhaps shorter.
  void send(Bytes bytes, size_t segment, uint8_t ecn);
  // A datagram of the client is about to be sent on. `proven`: it carries an ID that the server
  // chose, so that the client receives at its address.
  void note_client(const quic::ReceivedDatagram& datagram, bool proven);

  bool half_open() const { return !proven_; }
  void resume();  // the listener's socket has room again
  void finish(std::string_view why);  // its line in the log

  const PathKey key;
  RecentIds client_ids;  // that the client chose for the server
  RecentIds server_ids;  // that the server chose for itself
  UdpFlow* next_of_path = nullptr;

 private:
  void on_events(uint32_t events) override;
  Result<void> open(std::shared_ptr<upstream::ServerState> server);
  Result<void> try_servers();
  void close_socket();
  void take_from_server(Bytes bytes, uint8_t ecn);
  void prove();
  void send_first_flight();
  void note_error(int code);
  void on_refused();
  void stall();
  bool header_due() const;
  std::string proxy_header() const;
  void on_timer();
  void arm();

  UdpPassthrough& owner_;
  PassthroughRef passthrough_;
  net::ConnectionFacts facts_;
  std::optional<net::ConnectedUdp> socket_;
  std::optional<net::UdpReceiver> receiver_;
  PassthroughLease lease_;
  std::vector<upstream::ServerState*> tried_;
  std::vector<KeptDatagram> first_flight_;  // until the server answers: for another one
  std::string why_;
  Nanos began_;
  Nanos last_;
  Nanos answered_at_ = kNever;
  Nanos header_sent_ = kNever;  // the PROXY header; kNever: it was not
  uint64_t bytes_in_ = 0;
  uint64_t bytes_out_ = 0;
  bool answered_ = false;
  bool proven_ = false;    // the client receives at its address
  bool followed_ = false;  // it came from another address
  bool refused_ = false;   // told by ICMP, and not acted on yet
  net::Timer timer_;
};

}  // namespace pqedge::edge
