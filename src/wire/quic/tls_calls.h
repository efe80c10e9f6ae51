// What OpenSSL calls when it has something for QUIC (SSL_set_quic_tls_cbs(3)): by whoever has the
// SSL, the connection on its worker or a signing thread.
#pragma once

#include <ngtcp2/ngtcp2.h>
#include <openssl/ssl.h>

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace pqedge::quic {

class TlsCalls {
 public:
  // Handshake bytes for the peer, at the level of the last write secret.
  virtual bool send(Bytes bytes) = 0;
  // The next bytes of the peer that were not handed out yet; they stay until release().
  virtual Bytes receive() = 0;
  virtual void release(size_t size) = 0;
  virtual bool secret(ngtcp2_encryption_level level, bool writing, Bytes secret) = 0;
  virtual bool peer_parameters(Bytes parameters) = 0;
  virtual void alert(uint8_t code) = 0;

 protected:
  ~TlsCalls() = default;
};

// `calls` may change with each owner of the SSL; null: nothing is done.
bool install_tls_calls(SSL* ssl);
void set_tls_calls(SSL* ssl, TlsCalls* calls);

// CRYPTO bytes of the peer for OpenSSL, which keeps pointers to what it has not released. A block
// is what one call brought.
class IncomingCrypto {
 public:
  void push(Bytes bytes);
  Bytes next();
  void release(size_t size);

 private:
  std::deque<std::string> blocks_;
  size_t handed_out_ = 0;  // blocks
  size_t released_ = 0;    // bytes of the first block
};

// Writes down what a signing thread's OpenSSL calls for, for the worker to do.
class TlsCallRecorder final : public TlsCalls {
 public:
  TlsCallRecorder() = default;
  ~TlsCallRecorder();
  TlsCallRecorder(const TlsCallRecorder&) = delete;
  TlsCallRecorder& operator=(const TlsCallRecorder&) = delete;

  // The bytes that the SSL has been reading from.
  void set_incoming(IncomingCrypto incoming) { incoming_ = std::move(incoming); }
  IncomingCrypto take_incoming() { return std::move(incoming_); }
  // Does it all, in order. False: one failed.
  bool replay(TlsCalls& real) const;

  bool send(Bytes bytes) override;
  Bytes receive() override { return incoming_.next(); }
  void release(size_t size) override { incoming_.release(size); }
  bool secret(ngtcp2_encryption_level level, bool writing, Bytes secret) override;
  bool peer_parameters(Bytes parameters) override;
  void alert(uint8_t code) override;

 private:
  enum class Kind : uint8_t { send, secret, parameters, alert };
  struct Call {
    Kind kind;
    bool writing = false;
    ngtcp2_encryption_level level = NGTCP2_ENCRYPTION_LEVEL_INITIAL;
    uint8_t code = 0;
    std::string bytes;
  };
  IncomingCrypto incoming_;
  std::vector<Call> calls_;
};

}  // namespace pqedge::quic
