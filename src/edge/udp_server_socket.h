// The socket of one client's datagrams toward one server of a pool: of a QUIC connection that is
// passed on, or of a client of a UDP listener. It holds the server's lease, puts a PROXY header in
// front of what is sent first, and hears from the kernel that nobody is there.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/counters.h"
#include "base/result.h"
#include "edge/passthrough.h"
#include "net/connected_udp.h"
#include "net/loop.h"
#include "net/udp_batch.h"

namespace pqedge::edge {

class Worker;

// Other than in QUIC, what is inside may be longer than the path takes in one piece.
void allow_fragments(int fd);

class UdpServerSocket final : private net::EventSource {
 public:
  class User {
   public:
    // False: datagrams of the server wait in the kernel until resume().
    virtual bool takes_datagrams() { return true; }
    // It must not destroy the socket. `first`: the server has just shown that it is there.
    virtual void on_server_datagram(Bytes bytes, uint8_t ecn, bool first) = 0;
    // The server was told to be unreachable before it had answered, and is passed over for a
    // moment. In a turn of its own; the socket is closed, and may be opened again or destroyed.
    virtual void on_server_unreachable() = 0;

   protected:
    ~User() = default;
  };
  // What differs by use.
  struct Kind {
    int receive_buffer;
    bool fragments;          // else one that is too long is a probe of the path's MTU
    counters::Counter lost;  // datagrams that could not be sent
    counters::Counter unreachable;
  };

  // `peer` and `local`: the client's address, and ours that it sends to.
  UdpServerSocket(Worker& worker, User& user, const Kind& kind, const net::Address& peer,
                  const net::Address& local);
  ~UdpServerSocket() { close(); }

  // A PROXY header (version 2) is sent with the first datagram, and with later ones as long as the
  // server does not answer. `authority` lives as long as this; empty: none is named.
  void announce_client(std::string_view authority) {
    announces_ = true;
    authority_ = authority;
  }

  Result<void> open(std::shared_ptr<upstream::ServerState> server);
  // To the first of them that a socket can be opened for. False: `next` has no more (null), or the
  // process is out of descriptors.
  bool open_one_of(const std::function<std::shared_ptr<upstream::ServerState>()>& next);
  // The last thing that went wrong with a server; empty: nothing.
  const std::string& why() const { return why_; }

  // Datagrams of `segment` bytes each, the last perhaps shorter.
  void send(Bytes bytes, size_t segment, uint8_t ecn);
  void resume();

  bool answered() const { return answered_at_ != kNever; }
  Nanos answered_at() const { return answered_at_; }
  std::string_view server() const { return lease_ ? std::string_view(lease_->name) : ""; }
  // It did not answer: it is passed over for a moment.
  void note_failure();

 private:
  void on_events(uint32_t events) override;
  void take(Bytes bytes, uint8_t ecn);
  void close();
  bool header_due() const;
  std::string header() const;
  void note_error(int code);
  void on_unreachable();

  Worker& worker_;
  User& user_;
  const Kind& kind_;
  const net::Address peer_;
  const net::Address local_;
  std::string_view authority_;
  std::optional<net::ConnectedUdp> socket_;
  std::optional<net::UdpReceiver> receiver_;
  PassthroughLease lease_;
  std::string why_;
  Nanos answered_at_ = kNever;
  Nanos header_sent_ = kNever;  // kNever: it was not
  bool announces_ = false;
  net::Timer unreachable_;  // armed: told by ICMP, and not acted on yet
};

}  // namespace pqedge::edge
