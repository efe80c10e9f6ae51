// One worker's UDP socket: HTTP/3 connections become exchanges like all others.
#pragma once

#include <memory>

#include "edge/listener_view.h"
#include "edge/snapshot.h"
#include "edge/udp_passthrough.h"
#include "wire/http3/listener.h"

namespace pqedge::edge {

class Worker;

class QuicListener final : private http3::Acceptor {
 public:
  static Result<std::unique_ptr<QuicListener>> create(Worker& worker,
                                                      std::shared_ptr<const ListenerView> view,
                                                      net::UdpSocket socket, bool reading,
                                                      const Snapshot& snapshot,
                                                      std::shared_ptr<crypto::ServerContexts>);

  // Once the worker has the configuration that it was made for.
  void begin() { update_passthrough(); }
  void update(std::shared_ptr<const ListenerView> view);
  const ListenerView& view() const { return *view_; }
  void receive_handed_over(const quic::ReceivedDatagram& datagram) {
    listener_->receive_handed_over(datagram);
  }
  void stop_accepting();

  // For an upgrade: as of quic::Endpoint.
  int fd() const { return fd_; }
  Result<void> set_reading(bool on) { return listener_->set_reading(on); }
  bool receive_from_successor(const quic::ReceivedDatagram& datagram) {
    return listener_->receive_from_successor(datagram);
  }
  void receive_returned(const quic::ReceivedDatagram& datagram) {
    listener_->receive_returned(datagram);
  }
  // No handshake is under way, and nothing is passed on.
  bool is_settled() const {
    return listener_->half_open() == 0 && (passthrough_ == nullptr || passthrough_->flows() == 0);
  }

  // Those that are passed on too.
  size_t connections() const {
    return listener_->connections() + (passthrough_ != nullptr ? passthrough_->flows() : 0);
  }
  void cut_passthrough(std::string_view why) {
    if (passthrough_ != nullptr) passthrough_->cut(why);
  }

 private:
  QuicListener(Worker& worker, std::shared_ptr<const ListenerView> view)
      : worker_(worker), view_(std::move(view)) {}
  void update_passthrough();
  Verdict admit(const net::Address& peer) override;
  http::ServerConnectionHandler& on_http3_connection(
      std::unique_ptr<http::ServerConnection> connection,
      const net::ConnectionFacts& facts) override;
  void on_handshake_confirmed() override;
  bool is_live(const quic::Owner& owner) override;
  void hand_over(const quic::Owner& owner, const quic::ReceivedDatagram& datagram) override;
  bool has_predecessor() override;
  bool ask_predecessor(const quic::ReceivedDatagram& datagram) override;

  Worker& worker_;
  std::shared_ptr<const ListenerView> view_;
  int fd_ = -1;  // the listener's
  std::unique_ptr<http3::Listener> listener_;
  std::unique_ptr<UdpPassthrough> passthrough_;  // from the first view on that passes something on
};

}  // namespace pqedge::edge
