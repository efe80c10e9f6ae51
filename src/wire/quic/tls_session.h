// The TLS half of one QUIC connection.
#pragma once

#include <ngtcp2/ngtcp2.h>
#include <ngtcp2/ngtcp2_crypto.h>
#include <ngtcp2/ngtcp2_crypto_ossl.h>
#include <openssl/ssl.h>

#include <memory>
#include <span>

#include "base/result.h"
#include "crypto/handles.h"
#include "crypto/tls.h"
#include "wire/quic/tls_calls.h"

namespace pqedge::quic {

// Must be called once before the first session, with no other thread about.
Result<void> initialise_tls();

// An SSL of the worker's QUIC context, wired to ngtcp2 (in the place of ngtcp2's own wiring, which
// cannot leave an SSL to another thread).
class TlsSession final : private TlsCalls, private crypto::HandshakeDriver {
 public:
  class Owner {
   public:
    // The handshake went on outside of a packet's reading: there may be something to send. `status`
    // is as ngtcp2_conn_read_pkt() would return it.
    virtual void handshake_went_on(int status) = 0;

   protected:
    ~Owner() = default;
  };

  TlsSession() = default;
  ~TlsSession() { reset(); }
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  // `state` is what the context's callbacks fill; it, `owner` and `conn` (read whenever TLS calls
  // back) outlive the session.
  Result<void> start(net::Loop& loop, std::shared_ptr<crypto::ServerContexts> contexts,
                     crypto::SessionState& state, ngtcp2_conn** conn, Owner& owner);
  void reset();

  // CRYPTO bytes of the peer, in order: for ngtcp2's recv_crypto_data.
  int receive(Bytes bytes);

  SSL* ssl() const { return ssl_.get(); }  // null while a signing thread has it
  void* native_handle() const { return context_; }

  // Of CRYPTO frames, given to ngtcp2 so far.
  uint64_t handshake_bytes() const { return handshake_bytes_; }

 private:
  struct Away;

  int advance();
  int failure() const;
  int pause();
  ngtcp2_ssize encode_parameters(std::span<uint8_t> into) const;
  int hand_over();
  void take_back(bool ran);
  void resume_handshake() override;

  bool late_handshake_secret(Bytes secret);
  bool send(Bytes bytes) override;
  Bytes receive() override { return incoming_.next(); }
  void release(size_t size) override { incoming_.release(size); }
  bool secret(ngtcp2_encryption_level level, bool writing, Bytes secret) override;
  bool peer_parameters(Bytes parameters) override;
  void alert(uint8_t code) override;

  std::shared_ptr<crypto::ServerContexts> contexts_;
  crypto::SessionState* state_ = nullptr;
  ngtcp2_conn** conn_ = nullptr;
  Owner* owner_ = nullptr;
  crypto::PausePoint pause_;
  IncomingCrypto incoming_;  // before ssl_, which points into it
  crypto::SslPtr ssl_;
  std::shared_ptr<Away> away_;
  ngtcp2_crypto_ossl_ctx* context_ = nullptr;
  uint64_t handshake_bytes_ = 0;
  ngtcp2_encryption_level write_level_ = NGTCP2_ENCRYPTION_LEVEL_INITIAL;
  bool paused_ = false;
  bool replaying_ = false;  // what was written down while the SSL was away
};

}  // namespace pqedge::quic
