// HTTP/3 over QUIC v1 toward clients: one worker's endpoint on one UDP socket (RFC 9000, RFC 9114).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "crypto/tls.h"
#include "http/limits.h"
#include "http/stream.h"
#include "net/loop.h"
#include "net/socket.h"
#include "wire/quic/datagram_filter.h"
#include "wire/quic/keys.h"
#include "wire/quic/settings.h"

namespace pqedge::http3 {

// Edge's side of a listener.
class Acceptor {
 public:
  enum class Verdict : uint8_t { accept, retry, drop };
  // Judged on the first Initial of an unknown connection, before its keys are derived.
  virtual Verdict admit(const net::Address& peer) = 0;
  // A handshake has completed with ALPN h3 (or 0-RTT began). The acceptor takes the connection; its
  // handler must outlive it. The connection holds `facts` itself.
  virtual http::ServerConnectionHandler& on_http3_connection(
      std::unique_ptr<http::ServerConnection> connection, const net::ConnectionFacts& facts) = 0;
  // A connection that began with early data has completed its handshake; its facts say so.
  virtual void on_handshake_confirmed() {}
  // A datagram whose connection ID belongs to another worker or generation of this process.
  // `datagram` is copied if it is kept.
  virtual bool is_live(const quic::Owner&) { return true; }  // false: the client gets a reset
  virtual void hand_over(const quic::Owner& owner, const quic::ReceivedDatagram& datagram) = 0;
  // As of quic::EndpointHandler.
  virtual bool has_predecessor() { return false; }
  virtual bool ask_predecessor(const quic::ReceivedDatagram&) { return false; }

 protected:
  ~Acceptor() = default;
};

class Listener {
 public:
  struct Options {
    net::UdpSocket socket;
    net::Address local;
    quic::Owner self;                        // this worker and generation
    std::shared_ptr<const quic::Keys> keys;  // of the process: IDs, resets, Retry, tokens
    quic::Settings settings;
    std::shared_ptr<const http::Limits> limits;
    bool reading = true;
  };
  static Result<std::unique_ptr<Listener>> create(net::Loop& loop, Options options,
                                                  std::shared_ptr<crypto::ServerContexts> contexts,
                                                  Acceptor& acceptor);
  virtual ~Listener() = default;

  // New connections use these from now on (reload).
  virtual void update(std::shared_ptr<crypto::ServerContexts> contexts,
                      std::shared_ptr<const http::Limits> limits,
                      const quic::Settings& settings) = 0;
  // A datagram that another worker received for us.
  virtual void receive_handed_over(const quic::ReceivedDatagram& datagram) = 0;
  // New Initials are refused from now on; what runs goes on.
  virtual void stop_accepting() = 0;
  virtual size_t connections() const = 0;

  // For an upgrade: as of quic::Endpoint.
  virtual Result<void> set_reading(bool on) = 0;
  virtual bool receive_from_successor(const quic::ReceivedDatagram& datagram) = 0;
  virtual void receive_returned(const quic::ReceivedDatagram& datagram) = 0;
  virtual size_t half_open() const = 0;

  // For datagrams that are passed on: as in quic::Endpoint.
  virtual void set_filter(quic::DatagramFilter* filter) = 0;
  virtual void receive_unfiltered(const quic::ReceivedDatagram& datagram) = 0;
  virtual bool send_datagram(const net::Address& local, const net::Address& peer, Bytes packet,
                             uint8_t ecn) = 0;
  virtual bool can_send() = 0;
  virtual void refuse(const quic::ReceivedDatagram& datagram) = 0;
};

}  // namespace pqedge::http3
