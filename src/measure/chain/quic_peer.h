// One end of a QUIC connection without sockets: datagrams go in and come out as bytes.
#pragma once

#include <ngtcp2/ngtcp2.h>
#include <ngtcp2/ngtcp2_crypto.h>
#include <ngtcp2/ngtcp2_crypto_ossl.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/time.h"
#include "crypto/handles.h"

namespace pqedge::measure {

using Datagram = std::vector<uint8_t>;

class QuicPeer {
 public:
  // `ssl` in connect state.
  static Result<std::unique_ptr<QuicPeer>> client(crypto::SslPtr ssl, size_t datagram, Nanos now);
  // `ssl` in accept state; `first` is the client's first datagram, which is still to be read.
  static Result<std::unique_ptr<QuicPeer>> server(crypto::SslPtr ssl, size_t datagram, Nanos now,
                                                  Bytes first);
  ~QuicPeer();
  QuicPeer(const QuicPeer&) = delete;
  QuicPeer& operator=(const QuicPeer&) = delete;

  Result<void> read(const std::vector<Datagram>& datagrams, Nanos now);
  // All that the windows allow.
  Result<std::vector<Datagram>> write(Nanos now);
  Nanos expiry() const { return ngtcp2_conn_get_expiry(connection_.get()); }
  Result<void> expire(Nanos now);
  bool handshake_done() const {
    return ngtcp2_conn_get_handshake_completed(connection_.get()) != 0;
  }
  SSL* ssl() const { return ssl_.get(); }

 private:
  struct Free {
    void operator()(ngtcp2_conn* c) const { ngtcp2_conn_del(c); }
    void operator()(ngtcp2_crypto_ossl_ctx* c) const { ngtcp2_crypto_ossl_ctx_del(c); }
  };

  QuicPeer(crypto::SslPtr ssl, size_t datagram) : ssl_(std::move(ssl)), datagram_(datagram) {}
  Result<void> attach(bool server);
  ngtcp2_settings settings(Nanos now) const;
  ngtcp2_transport_params parameters() const;
  ngtcp2_path path() const;
  Result<void> broken(const char* what, int error) const;
  static const ngtcp2_callbacks& callbacks();
  static ngtcp2_conn* connection_of(ngtcp2_crypto_conn_ref* reference);

  // The connection goes first, then the TLS objects that it points to.
  crypto::SslPtr ssl_;
  std::unique_ptr<ngtcp2_crypto_ossl_ctx, Free> crypto_;
  ngtcp2_crypto_conn_ref reference_{};
  std::unique_ptr<ngtcp2_conn, Free> connection_;
  size_t datagram_;
  bool is_server_ = false;
};

}  // namespace pqedge::measure
