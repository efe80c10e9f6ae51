#include "wire/quic/tls_session.h"

#include <openssl/err.h>

namespace pqedge::quic {
namespace {

ngtcp2_conn* connection_of(ngtcp2_crypto_conn_ref* ref) {
  return *static_cast<ngtcp2_conn**>(ref->user_data);
}

}  // namespace

Result<void> initialise_tls() {
  static const int status = ngtcp2_crypto_ossl_init();
  if (status != 0) return fail("cannot initialise the QUIC cryptography (ngtcp2_crypto_ossl_init)");
  return {};
}

Result<void> TlsSession::start(const crypto::ServerContexts& contexts, crypto::SessionState& state,
                               ngtcp2_conn** conn) {
  // An error left in the queue would make the next call on this thread fail oddly.
  ERR_clear_error();
  ssl_ = SSL_new(contexts.quic());
  if (ssl_ == nullptr) return fail("cannot make a TLS session for QUIC");
  ref_.get_conn = connection_of;
  ref_.user_data = conn;
  SSL_set_app_data(ssl_, &ref_);
  crypto::attach_session(ssl_, &state);
  if (ngtcp2_crypto_ossl_configure_server_session(ssl_) != 0) {
    return fail("cannot configure a TLS session for QUIC");
  }
  SSL_set_accept_state(ssl_);
  // No 0-RTT: a request in it can be replayed, and nothing here guards against that.
  SSL_set_quic_tls_early_data_enabled(ssl_, 0);
  if (ngtcp2_crypto_ossl_ctx_new(&context_, ssl_) != 0) {
    return fail("cannot make a TLS context for QUIC");
  }
  return {};
}

void TlsSession::reset() {
  if (context_ != nullptr) {
    ngtcp2_crypto_ossl_ctx_del(context_);
    context_ = nullptr;
  }
  if (ssl_ != nullptr) {
    // SSL_free may call back into ngtcp2, whose connection is gone by then.
    SSL_set_app_data(ssl_, nullptr);
    SSL_free(ssl_);
    ssl_ = nullptr;
  }
}

}  // namespace pqedge::quic
