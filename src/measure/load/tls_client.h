// The client's side of TLS 1.3: one context for all connections of a run.
#pragma once

#include <deque>
#include <string>

#include "base/result.h"
#include "measure/load/handles.h"
#include "measure/load/options.h"

namespace pqedge::measure::load {

// What a handshake agreed on, as OpenSSL names it.
struct TlsFacts {
  std::string version;
  std::string group;
  std::string cipher;
  std::string alpn;
};

class TlsClient {
 public:
  static Result<TlsClient> make(const Options& options);
  TlsClient(TlsClient&&) noexcept;
  TlsClient& operator=(TlsClient&&) = delete;

  // A connection's state in connect mode, with name, ALPN and, when tickets are to be used and one
  // is at hand, the session to resume. The caller attaches the transport.
  SslPtr new_connection();

  static TlsFacts facts(SSL* ssl);

 private:
  TlsClient(SslCtxPtr context, const Options& options);
  static int keep_ticket(SSL* ssl, SSL_SESSION* session);

  SslCtxPtr context_;
  std::string server_name_;  // empty for an address
  std::string alpn_;         // in wire format
  bool resume_;
  double resumption_;
  double due_ = 0;  // of the next connection that resumes, as the sum of shares since the last
  std::deque<SessionPtr> tickets_;
};

// The text of OpenSSL's first queued error on this thread; empties the queue.
std::string openssl_error();

}  // namespace pqedge::measure::load
