// One QUIC connection of a server (RFC 9000), over ngtcp2. It knows streams of bytes, not what is
// in them: http3 is one ConnectionHandler.
#pragma once

#include <ngtcp2/ngtcp2.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/intrusive_list.h"
#include "base/result.h"
#include "crypto/tls.h"
#include "net/facts.h"
#include "net/loop.h"
#include "wire/quic/connection_handler.h"
#include "wire/quic/keys.h"
#include "wire/quic/qlog.h"
#include "wire/quic/streams.h"
#include "wire/quic/tls_session.h"

namespace pqedge::quic {

class Endpoint;

struct DirtyTag;
struct ReceivedTag;

class Connection final : public ListNode<DirtyTag>,
                         public ListNode<ReceivedTag>,
                         public Streams,
                         private TlsSession::Owner {
 public:
  // How the first packet of a connection came, and what its token proved.
  struct Initial {
    const ngtcp2_pkt_hd& header;
    const ReceivedDatagram& datagram;
    std::optional<ngtcp2_cid> original_id;  // with a valid Retry token: the ID before the Retry
    bool address_validated = false;         // by either kind of token
  };
  static Result<std::unique_ptr<Connection>> accept(Endpoint& endpoint, const Initial& initial);
  ~Connection();

  // ---- for the application ----
  net::Loop& loop() const override;
  CopyBuffer& copies() override;
  Endpoint& endpoint() const { return endpoint_; }
  const net::ConnectionFacts& facts() const { return facts_; }

  // Whether the peer may open a bidirectional stream of that ID, as far as it was ever told.
  bool may_open(int64_t id) const { return id / 4 < static_cast<int64_t>(max_streams_); }
  // Lets the peer open another stream of that kind, when one has ended.
  void allow_stream(bool bidirectional);

  // Ends the connection with an application error (0x1d) at the end of the turn; nothing that comes
  // from now on is looked at. `reason` is static text: it goes to the peer and to
  // on_connection_closed.
  // `written_out`: what is queued leaves before, as far as windows allow.
  void close(uint64_t code, std::string_view reason, bool written_out = false);
  bool closing() const override { return ending_ != Ending::none || state_ >= State::closing; }
  // The application is going away without an end in good order: no call reaches it any more.
  void detach_handler() {
    handler_ = nullptr;
    write_before_close_ = false;  // the streams are gone
  }

  void wake() override;
  // The time within which the peer's answer to a packet is expected, for timers of the application.
  Nanos probe_timeout() const;
  // PING frames the peer has sent.
  uint64_t pings_received() const;

  // ---- for the endpoint ----
  void receive(const ReceivedDatagram& datagram);
  void after_receive();
  void flush();
  void abandon();  // the endpoint is going away: no packet, the application is told
  bool ended() const { return state_ >= State::closing; }      // only late packets are answered
  bool finished() const { return state_ == State::finished; }  // nothing is left to do
  // The first datagram had a later part of the hello: nothing was begun, nothing is to be told.
  bool lacks_start() const { return lacks_start_; }
  void withdraw() { leave_handshake(); }  // then destroy it

 private:
  friend struct Callbacks;
  // In this order.
  enum class State : uint8_t { handshake, established, closing, draining, finished };

  explicit Connection(Endpoint& endpoint);
  Result<void> start(const Initial& initial);
  void fill_settings(const Initial& initial, ngtcp2_settings& settings) const;
  void begin_qlog(const Initial& initial, ngtcp2_settings& settings);
  void fill_parameters(const Initial& initial, const ConnectionId& id,
                       ngtcp2_transport_params& parameters) const;

  void log_failure(const Error& error) const;
  void note_client_close() const;
  void handshake_went_on(int status) override;
  void handshake_completed();
  void begin_application();
  void digest_parameters();
  void leave_handshake();
  void send_new_token();
  Stream* stream_opened(int64_t id) override;
  void stream_forgotten(int64_t id) override { allow_stream(is_bidirectional(id)); }
  bool register_id(const ngtcp2_cid& id);
  void unregister_id(const ngtcp2_cid& id);

  // Writing (connection_send.cc).
  bool write_packets();
  void note_amplification_wait();
  void arm_timer();
  void on_timer();

  // Ending.
  void read_failed(int error);
  void write_failed(int error);
  // How the connection shall end at the end of the turn.
  enum class Ending : uint8_t {
    none,
    close,  // CONNECTION_CLOSE is sent
    drain,  // the peer has sent its own
    drop    // in silence
  };
  void request_end(Ending how, std::string_view reason);
  void request_close(const ngtcp2_ccerr& error, std::string_view reason);
  void end_now();
  void send_close();
  void release();
  void answer_while_closing();

  Endpoint& endpoint_;
  TlsSession tls_;
  std::unique_ptr<Qlog> qlog_;  // null: off
  crypto::SessionState session_;
  std::shared_ptr<crypto::ServerContexts> contexts_;
  net::ConnectionFacts facts_;
  ConnectionHandler* handler_ = nullptr;

  std::vector<ngtcp2_cid> ids_;  // in the endpoint's table
  net::Timer timer_;
  State state_ = State::handshake;
  Ending ending_ = Ending::none;
  bool write_before_close_ = false;
  bool lacks_start_ = false;
  bool address_validated_ = false;  // by a token, before the handshake
  bool waited_for_client_ = false;  // for the limit of what an address that may be forged gets
  bool confirm_owed_ = false;    // the application began with early data, and the Finished has come
  uint64_t stream_limit_ = 0;    // bidirectional streams of the peer at once
  uint64_t max_streams_ = 0;     // that it may have opened by now, counted from the first
  uint64_t opened_streams_ = 0;  // that it has
  uint64_t ended_streams_ = 0;   // for which it was not given another yet
  uint8_t unanswered_ = 0;       // datagrams taken since packets were last written
  ngtcp2_ccerr close_error_;
  std::string_view close_reason_;

  // What is left once the connection has ended: the packet that says so, sent again when the peer
  // goes on talking (RFC 9000 10.2.1).
  std::vector<uint8_t> close_packet_;
  net::Address close_local_;
  net::Address close_peer_;
  uint32_t packets_while_closing_ = 0;
};

}  // namespace pqedge::quic
