// What one worker knows of the processes before and after this one (an upgrade).
#pragma once

#include <memory>

#include "edge/process_peer.h"
#include "net/loop.h"

namespace pqedge::edge {

class Worker;

class Neighbours {
 public:
  explicit Neighbours(Worker& worker);
  ~Neighbours();

  // ---- the new process
  Result<void> follow(std::shared_ptr<ProcessPeer> before);
  bool is_of_predecessor(const quic::Owner& owner) const {
    return before_.link != nullptr && owner.generation == before_.peer->generation() &&
           !before_.peer->is_gone(owner.worker);
  }
  // A datagram of a connection there.
  void hand_over(const quic::Owner& owner, const net::Address& listener,
                 const quic::ReceivedDatagram& datagram);
  // Whether datagrams with an ID of the client's own making may be of a handshake there.
  bool may_ask() const { return before_.link != nullptr && !before_.settled; }
  bool ask(const net::Address& listener, const quic::ReceivedDatagram& datagram);
  bool has_predecessor() const { return before_.link != nullptr; }

  // ---- the old process
  Result<void> precede(std::shared_ptr<ProcessPeer> after);

 private:
  class Before final : public ProcessLinkHandler {
   public:
    explicit Before(Neighbours& n) : neighbours(n) {}
    void on_link_datagram(const ProcessPeer::Datagram& d) override;
    void on_link_settled() override { settled = true; }
    void on_link_closed() override;

    Neighbours& neighbours;
    std::shared_ptr<ProcessPeer> peer;
    std::unique_ptr<ProcessLink> link;
    bool settled = false;
  };
  class After final : public ProcessLinkHandler {
   public:
    explicit After(Neighbours& n) : neighbours(n) {}
    void on_link_datagram(const ProcessPeer::Datagram& d) override;
    void on_link_settled() override {}
    void on_link_closed() override;

    Neighbours& neighbours;
    std::shared_ptr<ProcessPeer> peer;
    std::unique_ptr<ProcessLink> link;
  };

  void look_whether_settled();

  Worker& worker_;
  Before before_;
  After after_;
  net::Timer settle_timer_;
  net::Deferred close_;
};

}  // namespace pqedge::edge
