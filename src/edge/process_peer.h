// The other process of an upgrade as QUIC datagrams see it: a Unix socket a worker, on which what
// one process read goes to the one whose connection it is of.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "net/address.h"
#include "net/loop.h"
#include "net/socket.h"
#include "wire/quic/keys.h"

namespace pqedge::edge {

// Shared by the workers, and closed when the last lets go of it: a worker may send on the socket
// that another reads. Thread safe.
class ProcessPeer {
 public:
  struct Datagram {
    bool returned = false;  // it was asked about, and is of no connection there
    uint16_t from = 0;      // the sender's worker: where it comes back to
    net::Address listener;
    quic::ReceivedDatagram datagram;
  };

  // `ends`: this process's, one a worker of the other.
  ProcessPeer(uint16_t generation, std::vector<net::Fd> ends);

  uint16_t generation() const { return generation_; }
  size_t workers() const { return ends_.size(); }
  int end_of(uint16_t worker) const { return ends_[worker].get(); }
  // False: that worker is gone. A queue that is full drops the datagram, as a network would.
  bool send(uint16_t worker, const Datagram& d);
  // Nothing of its connections is known by an ID of the client's making any more.
  void send_settled(uint16_t worker);

  void set_gone(uint16_t worker) { gone_[worker].store(true, std::memory_order_relaxed); }
  bool is_gone(uint16_t worker) const {
    return worker >= ends_.size() || gone_[worker].load(std::memory_order_relaxed);
  }

 private:
  const uint16_t generation_;
  const std::vector<net::Fd> ends_;
  const std::unique_ptr<std::atomic<bool>[]> gone_;
};

class ProcessLinkHandler {
 public:
  virtual void on_link_datagram(const ProcessPeer::Datagram& d) = 0;
  virtual void on_link_settled() = 0;
  virtual void on_link_closed() = 0;  // the other process has ended; may destroy the link

 protected:
  ~ProcessLinkHandler() = default;
};

// One worker reads its socket of the peer's.
class ProcessLink final : private net::EventSource {
 public:
  static Result<std::unique_ptr<ProcessLink>> open(net::Loop& loop,
                                                   std::shared_ptr<ProcessPeer> peer,
                                                   uint16_t worker, ProcessLinkHandler& handler);
  ~ProcessLink();
  ProcessPeer& peer() { return *peer_; }

 private:
  ProcessLink(net::Loop& loop, std::shared_ptr<ProcessPeer> peer, uint16_t worker,
              ProcessLinkHandler& handler)
      : loop_(loop), peer_(std::move(peer)), worker_(worker), handler_(handler) {}
  void on_events(uint32_t events) override;

  net::Loop& loop_;
  const std::shared_ptr<ProcessPeer> peer_;
  const uint16_t worker_;
  ProcessLinkHandler& handler_;
};

}  // namespace pqedge::edge
