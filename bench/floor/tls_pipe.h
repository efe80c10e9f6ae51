// TLS 1.3 on the server's side of the floor's connections.
#pragma once

#include <openssl/ssl.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace pqedge::bench {

struct SslCtxDeleter {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
struct SslDeleter {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};
using SslCtxPtr = std::unique_ptr<SSL_CTX, SslCtxDeleter>;
using SslPtr = std::unique_ptr<SSL, SslDeleter>;

// A TLS 1.3 server context with one certificate. Null when something does not load; OpenSSL's
// error queue then says what.
SslCtxPtr make_server_context(const std::string& certificate, const std::string& key,
                              const std::string& groups);

// The server side of one TLS connection without a socket: bytes from the network go in, bytes for
// the network collect in `out`, so that the loop pays one system call a turn and not one a record.
class TlsPipe {
 public:
  explicit TlsPipe(SSL_CTX* context);
  TlsPipe(const TlsPipe&) = delete;
  TlsPipe& operator=(const TlsPipe&) = delete;

  // Decrypts all of `network` and appends the plain text. False when the connection is over.
  bool read(std::span<const char> network, std::string& plain);
  // Encrypts `plain` into `out`.
  bool write(std::span<const char> plain);

  std::string out;

 private:
  friend struct PipeBio;
  std::span<const char> in_;
  SslPtr ssl_;
};

}  // namespace pqedge::bench
