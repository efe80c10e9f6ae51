// The QUIC client of quic.h: setting up in quic_open.cc, the handshake in quic.cc.
#pragma once

#include <ngtcp2/ngtcp2.h>
#include <ngtcp2/ngtcp2_crypto.h>
#include <ngtcp2/ngtcp2_crypto_ossl.h>
#include <openssl/rand.h>

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "crypto/handles.h"
#include "measure/live/observer.h"
#include "measure/live/options.h"
#include "measure/live/quic_initial.h"
#include "net/address.h"
#include "net/socket.h"

namespace pqedge::measure::live {

inline constexpr size_t kQuicDatagram = 1200;  // what every path must carry (RFC 9000 14.1)

class QuicClient {
 public:
  QuicClient(const Options& options, LiveRecord& record) : options_(options), record_(record) {}
  ~QuicClient();
  QuicClient(const QuicClient&) = delete;
  QuicClient& operator=(const QuicClient&) = delete;

  Result<void> run();

 private:
  struct Free {
    void operator()(ngtcp2_conn* conn) const { ngtcp2_conn_del(conn); }
    void operator()(ngtcp2_crypto_ossl_ctx* ctx) const { ngtcp2_crypto_ossl_ctx_del(ctx); }
  };

  Result<void> open();
  Result<void> open_connection();
  Result<void> open_socket(const net::Address& server);
  Result<void> loop();
  Result<void> write();
  Result<void> receive();
  void count_end();
  void say_goodbye();
  std::unexpected<Error> ended(std::string outcome, const std::string& message);
  std::unexpected<Error> explain(int error);

  static QuicClient& self(void* user) { return *static_cast<QuicClient*>(user); }
  static ngtcp2_conn* connection(ngtcp2_crypto_conn_ref* reference) {
    return self(reference->user_data).quic_.get();
  }
  static int completed(ngtcp2_conn*, void* user) {
    self(user).completed_ = true;
    return 0;
  }
  static int new_id(ngtcp2_conn*, ngtcp2_cid* id, ngtcp2_stateless_reset_token* token,
                    size_t length, void*) {
    RAND_bytes(id->data, static_cast<int>(length));
    id->datalen = length;
    RAND_bytes(token->data, sizeof(token->data));
    return 0;
  }
  static void random(uint8_t* to, size_t size, const ngtcp2_rand_ctx*) {
    RAND_bytes(to, static_cast<int>(size));
  }
  static ngtcp2_callbacks callbacks();

  const Options& options_;
  LiveRecord& record_;
  Nanos start_ = 0;
  Nanos deadline_ = 0;
  std::optional<Observer> observer_;
  net::Fd socket_;
  net::Address local_;
  net::Address server_;
  crypto::SslCtxPtr context_;
  crypto::SslPtr ssl_;
  std::unique_ptr<ngtcp2_crypto_ossl_ctx, Free> crypto_;
  ngtcp2_crypto_conn_ref reference_{};
  std::unique_ptr<ngtcp2_conn, Free> quic_;
  QuicReader reader_;
  size_t client_seen_ = 0;
  size_t server_seen_ = 0;
  size_t first_flight_ = 0;  // datagrams before the server's first
  bool completed_ = false;
};

}  // namespace pqedge::measure::live
