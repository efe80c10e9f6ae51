// What is seen of a TLS handshake, filled into its record. The hellos come from the bytes on the
// wire; messages that are encrypted there come from OpenSSL's message callback, which hands over
// the bytes of each message as it was sent.
#pragma once

#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/time.h"
#include "crypto/handles.h"
#include "measure/live/options.h"
#include "measure/record/record.h"

namespace pqedge::measure::live {

class Observer {
 public:
  Observer(LiveRecord& record, Nanos start) : record_(record), start_(start) {}
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;

  // Of the wire: a ClientHello that was sent; a ServerHello or HelloRetryRequest that came.
  void client_hello(Bytes message);
  void server_hello(Bytes message);

  // Attaches the message callback; the observer must outlive the SSL object.
  void attach(SSL* ssl);

  // Microseconds since the start, once for each name.
  void time(const char* name);
  void restart(Nanos start) { start_ = start; }

  bool saw_server_hello() const { return record_.sizes.contains("server_hello"); }

 private:
  static void on_message(int written, int version, int type, const void* bytes, size_t size,
                         SSL* ssl, void* self);
  void received(Bytes message);
  void sent(Bytes message);
  void certificate(Bytes message);
  void verify(Bytes message, const char* size_name);

  LiveRecord& record_;
  Nanos start_;
  std::vector<std::pair<uint16_t, size_t>> shares_;  // of the latest ClientHello
};

// A client context with the options' groups, signature algorithms, certificate and trust store.
Result<crypto::SslCtxPtr> make_context(const Options& options);
// A client of that context with server name and ALPN.
Result<crypto::SslPtr> make_client(SSL_CTX* context, const Options& options,
                                   std::string_view default_alpn);
// ALPN and whether the chain was trusted, at the end of a handshake.
void read_end(SSL* ssl, LiveRecord& record);

}  // namespace pqedge::measure::live
