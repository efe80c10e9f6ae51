// A UDP listener whose datagrams go straight to a pool, on one worker. A client is its address and
// port: what comes from it goes to one server as long as either says something.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/intrusive_list.h"
#include "edge/listener_view.h"
#include "edge/passthrough.h"
#include "edge/snapshot.h"
#include "edge/udp_flow_key.h"
#include "edge/udp_server_socket.h"
#include "net/loop.h"
#include "net/udp_batch.h"
#include "upstream/choice.h"
#include "wire/quic/keys.h"

namespace pqedge::edge {

class Worker;
class UdpStream;
struct SessionTag;
struct UnansweredTag;

// One client.
class UdpSession final : public ListNode<SessionTag>,
                         public ListNode<UnansweredTag>,
                         private UdpServerSocket::User {
 public:
  UdpSession(UdpStream& owner, const net::Address& peer, const net::Address& local);

  // With the client's first datagram. False: no server can be had.
  bool begin(const quic::ReceivedDatagram& first);
  void from_client(const quic::ReceivedDatagram& datagram);
  // From now on it ends after a short silence.
  void hurry();
  void record(std::string_view why) const;

  const PathKey key;

 private:
  void on_server_datagram(Bytes bytes, uint8_t ecn, bool first) override;
  void on_server_unreachable() override;
  bool try_servers();
  void on_timer();

  UdpStream& owner_;
  const net::Address peer_;
  const net::Address local_;
  std::shared_ptr<const StreamCount> count_;
  std::string pool_;
  Nanos timeout_ = 0;
  upstream::Choice choice_;
  UdpServerSocket server_;
  std::string first_;  // the first datagram, for another server, until there is an answer
  uint8_t first_ecn_ = 0;
  uint32_t tries_ = 0;
  Nanos began_;
  Nanos last_;
  uint64_t bytes_in_ = 0;
  uint64_t bytes_out_ = 0;
  net::Timer timer_;
};

class UdpStream final : public net::EventSource {
 public:
  // `reading` false: until set_reading(), another process reads the socket (an upgrade).
  static Result<std::unique_ptr<UdpStream>> create(Worker& worker,
                                                   std::shared_ptr<const ListenerView> view,
                                                   net::UdpSocket socket, bool reading);
  ~UdpStream();

  // For clients from now on.
  void update(std::shared_ptr<const ListenerView> view) { view_ = std::move(view); }
  Result<void> set_reading(bool on);
  // Clients that are known go on until they are silent for a moment.
  void stop_accepting();
  void cut(std::string_view why);
  // A datagram that another worker read from the one socket that there is.
  void receive_handed_over(const quic::ReceivedDatagram& datagram) { take(datagram, true); }
  size_t sessions() const { return count_; }
  int fd() const { return socket_.fd.get(); }
  const ListenerView& view() const { return *view_; }

  // ---- for its sessions
  Worker& worker() { return worker_; }
  bool send(const net::Address& local, const net::Address& peer, Bytes bytes, uint8_t ecn);
  void note_answered(UdpSession& session);
  void end(UdpSession& session, std::string_view why);  // destroys it
  bool accepting() const { return accepting_; }

 private:
  UdpStream(Worker& worker, std::shared_ptr<const ListenerView> view, net::UdpSocket socket);
  void on_events(uint32_t events) override;
  void take(const quic::ReceivedDatagram& datagram, bool handed_over);
  bool make_room();

  Worker& worker_;
  std::shared_ptr<const ListenerView> view_;
  net::UdpSocket socket_;
  net::UdpReceiver receiver_;
  net::UdpSender sender_;
  std::unordered_map<PathKey, UdpSession*, PathHash> by_path_;
  IntrusiveList<UdpSession, SessionTag> all_;            // owned
  IntrusiveList<UdpSession, UnansweredTag> unanswered_;  // oldest first
  size_t count_ = 0;
  bool reading_ = false;
  bool accepting_ = true;
};

}  // namespace pqedge::edge
