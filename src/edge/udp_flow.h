// One QUIC connection that is passed on: datagrams between a client and one server. Nothing of it
// is decrypted; what is known of it are addresses and the connection IDs of its long headers.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/intrusive_list.h"
#include "edge/passthrough.h"
#include "edge/pending_hellos.h"
#include "edge/udp_flow_key.h"
#include "edge/udp_server_socket.h"
#include "net/facts.h"
#include "net/loop.h"
#include "wire/quic/keys.h"

namespace pqedge::edge {

class UdpPassthrough;
class UdpFlow;

struct HalfOpenTag;
struct StalledTag;
struct FlowTag;

class UdpFlow final : public ListNode<FlowTag>,
                      public ListNode<HalfOpenTag>,
                      public ListNode<StalledTag>,
                      private UdpServerSocket::User {
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
  void send(Bytes bytes, size_t segment, uint8_t ecn) { server_.send(bytes, segment, ecn); }
  // A datagram of the client is about to be sent on. `proven`: it carries an ID that the server
  // chose, so that the client receives at its address.
  void note_client(const quic::ReceivedDatagram& datagram, bool proven);

  bool half_open() const { return !proven_; }
  void resume() { server_.resume(); }  // the listener's socket has room again
  void finish(std::string_view why);   // its line in the log

  const PathKey key;
  RecentIds client_ids;  // that the client chose for the server
  RecentIds server_ids;  // that the server chose for itself
  UdpFlow* next_of_path = nullptr;

 private:
  bool takes_datagrams() override;
  void on_server_datagram(Bytes bytes, uint8_t ecn, bool first) override;
  void on_server_unreachable() override;
  Result<void> try_servers();
  void prove();
  void on_timer();
  void arm();

  UdpPassthrough& owner_;
  PassthroughRef passthrough_;
  net::ConnectionFacts facts_;
  UdpServerSocket server_;
  std::vector<upstream::ServerState*> tried_;
  std::vector<KeptDatagram> first_flight_;  // until the server answers: for another one
  Nanos began_;
  Nanos last_;
  uint64_t bytes_in_ = 0;
  uint64_t bytes_out_ = 0;
  bool proven_ = false;    // the client receives at its address
  bool followed_ = false;  // it came from another address
  net::Timer timer_;
};

}  // namespace pqedge::edge
