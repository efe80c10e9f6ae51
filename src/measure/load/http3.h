// Requests over HTTP/3, by ngtcp2 and nghttp3.
#pragma once

#include <nghttp3/nghttp3.h>
#include <ngtcp2/ngtcp2.h>
#include <ngtcp2/ngtcp2_crypto.h>
#include <ngtcp2/ngtcp2_crypto_ossl.h>

#include <memory>
#include <string>
#include <vector>

#include "measure/load/connection.h"
#include "measure/load/udp_socket.h"

namespace pqedge::measure::load {

class Http3Connection : public Connection {
 public:
  explicit Http3Connection(Context& context);
  ~Http3Connection() override;

  Result<void> open(Nanos now) override;
  int descriptor() const override { return socket_.descriptor(); }
  void on_events(uint32_t epoll_events, Nanos now) override;
  void on_deadline(Nanos now) override;
  size_t room() const override;
  void submit(Nanos intended, Nanos now) override;
  void flush(Nanos now) override;
  void close(Nanos now) override;
  Traffic transport_traffic() const override;

 private:
  friend struct QuicCallbacks;
  friend struct Http3Callbacks;
  struct Free {
    void operator()(ngtcp2_conn* conn) const { ngtcp2_conn_del(conn); }
    void operator()(nghttp3_conn* conn) const { nghttp3_conn_del(conn); }
    void operator()(ngtcp2_crypto_ossl_ctx* ctx) const { ngtcp2_crypto_ossl_ctx_del(ctx); }
  };

  Result<void> open_quic(Nanos now);
  // The control and QPACK streams. False when the peer does not let us open them.
  bool begin_http();
  ngtcp2_ssize write_packet(ngtcp2_path* path, ngtcp2_pkt_info* info, uint8_t* to, size_t size,
                            Nanos now);
  void lost_quic(int error);
  bool send_pending();

  UdpSocket socket_;
  SslPtr ssl_;
  std::unique_ptr<ngtcp2_crypto_ossl_ctx, Free> crypto_;
  ngtcp2_crypto_conn_ref reference_{};
  std::unique_ptr<ngtcp2_conn, Free> quic_;
  std::unique_ptr<nghttp3_conn, Free> http_;
  std::vector<nghttp3_nv> fields_;  // point into the plan
  Nanos now_ = 0;                   // of this turn, for callbacks
  bool handshake_done_ = false;
  bool saw_stream_data_ = false;  // in the datagram at hand

  // Datagrams that the socket did not take at once.
  std::vector<uint8_t> pending_;
  size_t pending_segment_ = 0;
};

}  // namespace pqedge::measure::load
