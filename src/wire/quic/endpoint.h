// The QUIC connections of one worker on one UDP socket.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>

#include "base/intrusive_list.h"
#include "base/result.h"
#include "crypto/tls.h"
#include "net/loop.h"
#include "net/socket.h"
#include "net/udp_batch.h"
#include "wire/quic/connection.h"
#include "wire/quic/connection_id_map.h"
#include "wire/quic/copy_buffer.h"
#include "wire/quic/datagram_filter.h"
#include "wire/quic/early_initials.h"
#include "wire/quic/keys.h"
#include "wire/quic/rate.h"
#include "wire/quic/settings.h"

namespace pqedge::quic {

class EndpointHandler {
 public:
  enum class Verdict : uint8_t { accept, retry, drop };
  // The first Initial of an unknown connection came from `peer`; its keys are not derived yet.
  virtual Verdict admit(const net::Address& peer) = 0;
  // The handshake has completed, or early data has come. Returns the application; null: the
  // connection is closed.
  virtual ConnectionHandler* on_connection(Connection& connection) = 0;
  // One that began with early data has completed its handshake.
  virtual void on_handshake_confirmed() {}
  // A datagram for another owner of this deployment, and whether that one is there to take it.
  virtual bool hand_over(const Owner& owner, const ReceivedDatagram& datagram) = 0;
  // While a process that this one took the socket over from has handshakes under way: their client
  // still uses an ID of its own making, so that any such ID may be that process's.
  virtual bool has_predecessor() { return false; }
  // True: it was sent there. What is not known there comes back by receive_returned().
  virtual bool ask_predecessor(const ReceivedDatagram&) { return false; }

 protected:
  ~EndpointHandler() = default;
};

class Endpoint final : public net::EventSource {
 public:
  struct Options {
    net::UdpSocket socket;
    net::Address local;
    Owner self;
    std::shared_ptr<const Keys> keys;
    Settings settings;
    crypto::AlpnList alpn;
    std::shared_ptr<crypto::ServerContexts> contexts;
    uint64_t max_streams = 100;  // requests at once that a client may open
    uint64_t max_unidirectional_streams = 8;
    // What the application announces and clients remember: early data is good for the same only.
    uint64_t application_limits = 0;
    bool reading = true;  // false: until set_reading(), somebody else reads the socket
  };
  static Result<std::unique_ptr<Endpoint>> create(net::Loop& loop, Options options,
                                                  EndpointHandler& handler);
  ~Endpoint();

  // For connections made from now on.
  void update(std::shared_ptr<crypto::ServerContexts> contexts, const Settings& settings,
              uint64_t max_streams);
  void set_application_limits(uint64_t limits) { options_.application_limits = limits; }
  void receive_handed_over(const ReceivedDatagram& datagram);
  void stop_accepting() { accepting_ = false; }

  // ---- for an upgrade: one process reads a socket that two have, and both send on it
  Result<void> set_reading(bool on);
  // From the process that reads now. False: it is of no connection here.
  bool receive_from_successor(const ReceivedDatagram& datagram);
  // Asked of the process before, and not known there.
  void receive_returned(const ReceivedDatagram& datagram);
  // Handshakes under way: a client may still use IDs that it has made itself.
  size_t half_open() const { return half_open_; }

  // ---- for a filter, which outlives the endpoint
  // Null: every datagram is for connections here.
  void set_filter(DatagramFilter* filter) { filter_ = filter; }
  // A datagram that the filter had taken is for connections here after all.
  void receive_unfiltered(const ReceivedDatagram& datagram);
  // Sends `packet` from this socket. False when the kernel takes no more for now: it is lost, and
  // the filter's on_room() follows.
  bool send_datagram(const net::Address& local, const net::Address& peer, Bytes packet,
                     uint8_t ecn);
  bool can_send();  // false: as if send_datagram() had been refused
  // CONNECTION_CLOSE with CONNECTION_REFUSED in answer to an Initial of QUIC version 1 or 2.
  void refuse(const ReceivedDatagram& datagram);
  size_t connections() const { return connections_.size() - ended_; }

  // Copies of small pieces, shared by the worker's connections.
  CopyBuffer& copies() { return copies_; }
  net::Loop& loop() { return loop_; }

 private:
  friend class Connection;
  friend struct Callbacks;

  Endpoint(net::Loop& loop, Options options, EndpointHandler& handler);
  void on_events(uint32_t events) override;
  enum class Source : uint8_t { socket, handed_over, filter, returned };
  void dispatch(const ReceivedDatagram& datagram, Source source);
  bool is_predecessors(const ReceivedDatagram& datagram, Bytes id);
  void no_connection(const ReceivedDatagram& datagram, Bytes id, Source source);
  void first_packet(const ReceivedDatagram& datagram);
  bool wants_retry();
  void make_connection(const Connection::Initial& initial);
  void after_batch();
  void run_turn_end();
  void mark_dirty(Connection& connection);
  uint64_t next_connection_id();
  void send(const ngtcp2_path& path, uint8_t ecn, size_t size, size_t segment);
  void send_copy(const net::Address& local, const net::Address& peer, Bytes packet);

  // Answers without a connection (endpoint_stateless.cc).
  enum class TokenVerdict : uint8_t { none, valid, invalid };
  TokenVerdict check_token(Connection::Initial& initial);
  void send_version_negotiation(const ReceivedDatagram& datagram, Bytes client_id, Bytes our_id);
  void send_retry(const ngtcp2_pkt_hd& header, const ReceivedDatagram& datagram);
  void send_refusal(const ngtcp2_pkt_hd& header, const ReceivedDatagram& datagram, uint64_t code);
  void send_stateless_reset(const ReceivedDatagram& datagram, Bytes id);
  bool may_answer();
  void answer(const ReceivedDatagram& to, Bytes packet);

  net::Loop& loop_;
  Options options_;
  EndpointHandler& handler_;
  net::UdpReceiver receiver_;
  net::UdpSender sender_;  // destroyed after the connections: their last packets are in it
  ConnectionIdMap<Connection> ids_;
  std::unordered_map<Connection*, std::unique_ptr<Connection>> connections_;
  EarlyInitials early_;
  IntrusiveList<Connection, DirtyTag> dirty_;
  IntrusiveList<Connection, ReceivedTag> received_;
  net::Deferred turn_end_;
  CopyBuffer copies_;
  RateLimit stateless_rate_;
  size_t half_open_ = 0;
  Nanos retry_until_ = 0;  // asked of newcomers without a token until then, under load
  size_t ended_ = 0;       // in connections_, closing or draining
  DatagramFilter* filter_ = nullptr;
  bool accepting_ = true;
  bool reading_ = false;
};

}  // namespace pqedge::quic
