// The TLS half of one QUIC connection.
#pragma once

#include <ngtcp2/ngtcp2.h>
#include <ngtcp2/ngtcp2_crypto.h>
#include <ngtcp2/ngtcp2_crypto_ossl.h>
#include <openssl/ssl.h>

#include <memory>

#include "base/result.h"
#include "crypto/tls.h"

namespace pqedge::quic {

// Must be called once before the first session, from any thread.
Result<void> initialise_tls();

// An SSL of the worker's QUIC context, wired to ngtcp2.
class TlsSession {
 public:
  TlsSession() = default;
  ~TlsSession() { reset(); }
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  // `state` is what the context's callbacks fill; it and `conn` (read whenever TLS calls back)
  // outlive the session.
  Result<void> start(const crypto::ServerContexts& contexts, crypto::SessionState& state,
                     ngtcp2_conn** conn);
  void reset();

  SSL* ssl() const { return ssl_; }
  void* native_handle() const { return context_; }

 private:
  SSL* ssl_ = nullptr;
  ngtcp2_crypto_ossl_ctx* context_ = nullptr;
  ngtcp2_crypto_conn_ref ref_{};  // SSL's app data: how ngtcp2 finds the connection
};

}  // namespace pqedge::quic
