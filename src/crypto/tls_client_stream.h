// TLS over a socket that connects to a backend: the stream that make_tls_client_stream() returns.
#pragma once

#include "crypto/backend_tls.h"
#include "crypto/tls_stream.h"

namespace pqedge::crypto {

// What the common part wants of a connection of a client's. A base, so that it is there first.
class BackendSide : public HandshakeHandler {
 public:
  void on_handshake_done() override {}
  void on_handshake_failed(const Error&) override {}

 protected:
  ~BackendSide() = default;
  net::ConnectionFacts client_facts_;
  AlpnList no_alpn_;
};

class TlsClientStream final : private BackendSide, public TlsStream {
 public:
  TlsClientStream(net::Loop& loop, net::Fd fd, BackendTlsStreamOptions options,
                  BackendTlsHandler& handler);
  ~TlsClientStream() override;

  void on_events(uint32_t events) override;

 private:
  bool begin() override;
  void finish_handshake() override;
  void fail_handshake(bool closed) override;
  void note_read_error() override;
  void note_truncation() override;

  BackendTlsStreamOptions options_;
  BackendTlsHandler& backend_handler_;
  uint16_t learned_ = 0;  // what the hello was made with
};

}  // namespace pqedge::crypto
