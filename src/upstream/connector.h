// What makes one connection to a backend server, by the transport and version of HTTP that its pool
// speaks.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "crypto/backend_tls.h"
#include "http/limits.h"
#include "http/stream.h"
#include "net/loop.h"
#include "net/socket.h"
#include "upstream/lease.h"
#include "upstream/server_state.h"
#include "upstream/settings.h"

namespace pqedge::upstream {

struct ConnectOptions {
  net::Loop& loop;
  ServerState& server;        // outlives the connector
  net::Address address = {};  // where to, other than to the server's (checks); empty: there
  Protocol protocol = Protocol::http1;
  Purpose purpose = Purpose::requests;  // with `bytes` the protocol does not count
  uint32_t max_streams = 100;           // of a connection that multiplexes, at a time
  Nanos probe_timeout = 4 * kSecond;    // for the answer to a PING (http::ClientConnection::probe)
  std::shared_ptr<const http::Limits> limits;
  std::shared_ptr<const crypto::BackendTls> tls;  // null: no TLS
  std::shared_ptr<SSL_CTX> tls_context;           // of `tls`, this worker's
  std::shared_ptr<crypto::BackendSessions> tls_sessions;
  std::string preface;                   // a PROXY header: goes out before anything else (TCP only)
  http::ClientConnectionHandler& owner;  // of the codec that is made
};

// Hears how connecting goes. The calls may come from inside begin(). None of them may destroy the
// connector: its user does so from the end of a turn (net::Deferred).
class ConnectorHandler {
 public:
  // The server is reached, a handshake begins: its time (tls_handshake_timeout) counts from now.
  virtual void on_handshake_begun() = 0;
  // `connection` can take streams. `facts` has empty texts where there is no TLS.
  virtual void on_connected(std::unique_ptr<http::ClientConnection> connection,
                            const crypto::BackendTlsFacts& facts) = 0;
  // It came to nothing; nothing more is called.
  virtual void on_connect_failed(Failure why, std::string_view detail) = 0;
  // The TLS handshake failed, and nothing more is called; or, after on_connected(), the server sent
  // an alert (in TLS 1.3 it looks at our certificate after our handshake is done), which is only
  // told here: the codec hears of the connection's end as of any other.
  virtual void on_tls_failed(crypto::BackendFault fault, const Error& error) = 0;

 protected:
  ~ConnectorHandler() = default;
};

// Of a connection that could not be begun, or broke before it was made.
inline Failure failure_of(const Error& error) {
  return net::is_own_shortage(error.code) ? Failure::own_shortage : Failure::connect_failed;
}

// One attempt. Its user runs the timers: destroying it before on_connected() drops the attempt.
// After on_connected() it must outlive the http::ClientConnection, which may use what it holds.
class Connector {
 public:
  virtual ~Connector() = default;
  // Begins. An error: it came to nothing at once, and no call was or will be made.
  virtual Result<void> begin() = 0;
};

// Of the kind that `options.protocol` needs.
std::unique_ptr<Connector> make_connector(ConnectOptions options, ConnectorHandler& handler);

// TCP or a Unix socket; with or without TLS; HTTP/1.1 or HTTP/2 (by prior knowledge, or as ALPN
// says).
std::unique_ptr<Connector> make_tcp_connector(ConnectOptions options, ConnectorHandler& handler);
// QUIC: HTTP/3.
std::unique_ptr<Connector> make_quic_connector(ConnectOptions options, ConnectorHandler& handler);

}  // namespace pqedge::upstream
