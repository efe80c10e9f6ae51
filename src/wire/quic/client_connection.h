// One QUIC connection of ours to a server (RFC 9000), over ngtcp2, on a UDP socket of its own. It
// stays on the path that it began on and sends no early data.
#pragma once

#include <ngtcp2/ngtcp2.h>
#include <ngtcp2/ngtcp2_crypto.h>
#include <ngtcp2/ngtcp2_crypto_ossl.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "crypto/backend_tls.h"
#include "crypto/handles.h"
#include "net/connected_udp.h"
#include "net/loop.h"
#include "net/udp_batch.h"
#include "wire/quic/connection_handler.h"
#include "wire/quic/streams.h"

namespace pqedge::quic {

// Hears how a connection is made. No call may destroy it.
class ClientObserver {
 public:
  // The server has answered.
  virtual void on_server_heard() = 0;
  virtual void on_handshake_done(const crypto::BackendTlsFacts& facts) = 0;
  // Before that: it came to nothing. `why` is valid during the call.
  virtual void on_unreachable(std::string_view why) = 0;
  // The TLS handshake failed; or, later, the server does not take our certificate.
  virtual void on_tls_failed(crypto::BackendFault fault, const Error& error) = 0;

 protected:
  ~ClientObserver() = default;
};

struct ClientOptions {
  crypto::BackendTlsStreamOptions tls;  // where to, and the hello; it has no preface
  uint64_t stream_window = 256 * 1024;  // of answers: bytes that a stream may be ahead
  uint64_t connection_window = 1024 * 1024;
};

class ClientConnection final : public Streams, private net::EventSource {
 public:
  // `application` hears of streams from the start, and of the end once the handshake is done.
  ClientConnection(net::Loop& loop, ClientOptions options, ConnectionHandler& application,
                   ClientObserver& observer);
  ~ClientConnection();

  // Opens the socket; the first packets leave at the end of this turn.
  Result<void> start();

  // ---- for the application ----
  net::Loop& loop() const override { return loop_; }
  CopyBuffer& copies() override { return copies_; }
  bool closing() const override { return ending_ != Ending::none; }
  void wake() override;
  // Bidirectional streams that can be opened now.
  uint64_t streams_left() const;
  // The server may open another unidirectional stream, since one has ended.
  void allow_stream();
  // As of a server's (connection.h).
  void close(uint64_t code, std::string_view reason, bool written_out = false);
  void detach_handler() { application_ = nullptr; }
  Nanos probe_timeout() const;
  // A server that is silent for so long is asked whether it lives (PING); kNever: it is not.
  void keep_alive(Nanos interval);
  // That were the server's for certain.
  uint64_t packets_received() const;
  // Whether nothing waits in the socket. Costs a system call.
  bool quiet() const;

 private:
  friend struct ClientCallbacks;
  enum class Ending : uint8_t {
    none,
    close,  // CONNECTION_CLOSE is sent
    drop,   // in silence: the server has sent its own, or is gone
    ended
  };

  // ---- Streams ----
  Stream* stream_opened(int64_t id) override;
  void stream_forgotten(int64_t) override { allow_stream(); }

  void on_events(uint32_t events) override;
  void receive();
  void read(Bytes datagram, uint8_t ecn);
  void after_receive();
  void refused(int code);
  void handshake_completed() { completed_ = true; }

  Result<void> open_tls();
  Result<void> open_connection();

  void flush();
  void write_packets();
  bool send(Bytes packets, size_t segment, uint8_t ecn);
  void arm_timer();
  void on_timer();

  void read_failed(int error);
  void closed_by_server();
  void fail_tls(crypto::BackendFault fault, Error error) {
    tls_fault_ = fault;
    tls_error_ = std::move(error);
  }
  void request_end(Ending how, std::string_view reason);
  void request_close(const ngtcp2_ccerr& error, std::string_view reason);
  void send_close();
  void end_now();
  void tell_end();
  void release();

  net::Loop& loop_;
  const ClientOptions options_;
  ConnectionHandler* application_;
  ClientObserver& observer_;
  CopyBuffer copies_;
  std::optional<net::ConnectedUdp> socket_;
  std::optional<net::UdpReceiver> receiver_;
  crypto::SslPtr ssl_;
  ngtcp2_crypto_ossl_ctx* crypto_ = nullptr;
  ngtcp2_crypto_conn_ref reference_{};
  uint16_t learned_ = 0;  // what the hello was made with

  bool completed_ = false;  // the handshake
  bool told_heard_ = false;
  bool told_done_ = false;
  bool write_before_close_ = false;
  Ending ending_ = Ending::none;
  uint8_t refusals_ = 0;  // by the server's machine, since a datagram came
  uint64_t datagrams_received_ = 0;
  Nanos send_again_at_ = 0;  // the kernel took no more
  ngtcp2_ccerr close_error_;
  std::string_view close_reason_;
  std::string unreachable_;  // in the place of close_reason_
  std::optional<crypto::BackendFault> tls_fault_;
  Error tls_error_;
  net::Timer timer_;
  net::Deferred turn_end_;
};

}  // namespace pqedge::quic
