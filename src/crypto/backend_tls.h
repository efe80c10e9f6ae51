// TLS toward backends: what one pool's connections are made from, and what is remembered of a
// server.
#pragma once

#include <openssl/ssl.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/problem.h"
#include "base/result.h"
#include "crypto/backend_tls_settings.h"
#include "crypto/certificates.h"
#include "crypto/client_authority.h"
#include "crypto/groups.h"
#include "crypto/handles.h"
#include "net/address.h"
#include "net/loop.h"
#include "net/socket.h"
#include "net/stream.h"

namespace pqedge::crypto {

// Everything but the files. Keys are "tls_...", as they stand in a [[pool]].
Problems validate(const BackendTlsSettings& settings);
// The files: "tls_ca", "tls_certificate", "tls_key".
Problems check_backend_tls_files(const BackendTlsSettings& settings);

// One pool's settings and files made ready. Immutable, shared by all workers.
class BackendTls {
 public:
  static Result<std::shared_ptr<const BackendTls>> load(const BackendTlsSettings& settings);

  const BackendTlsSettings& settings() const { return settings_; }
  // Of the settings and the files' contents: connections and sessions of another one are not used.
  uint64_t fingerprint() const { return fingerprint_; }
  // A context for one worker, over TCP and QUIC; they lock.
  Result<SslCtxPtr> make_context() const;
  // The groups in OpenSSL's syntax, with shares for those of the settings and for `learned` (a code
  // point; 0: none).
  std::string group_list(uint16_t learned) const;
  bool sends_share(uint16_t group, uint16_t learned) const;

 private:
  BackendTls() = default;

  BackendTlsSettings settings_;
  std::vector<const Group*> groups_;
  std::vector<const Group*> shares_;
  X509StorePtr authorities_;
  CertificateRef certificate_;  // null: none is shown
  uint64_t fingerprint_ = 0;
};

// Sessions of one worker's connections to one server, newest last. Each is used once (RFC 8446
// C.4).
class BackendSessions {
 public:
  ~BackendSessions() { clear(); }
  // Takes over a reference.
  void put(SSL_SESSION* session);
  SSL_SESSION* take();  // the caller's; null: none
  void clear();

 private:
  static constexpr size_t kMost = 8;
  std::vector<SSL_SESSION*> sessions_;
};

// What is known of a connection to a backend once its handshake is done. The names are static.
struct BackendTlsFacts {
  std::string_view version;  // "TLSv1.3"
  std::string_view group;    // "X25519MLKEM768"; empty where there was none
  std::string_view cipher;
  std::string_view alpn;  // "h3", "h2", "http/1.1"; empty where the server said nothing
  bool post_quantum = false;
  bool resumed = false;
  bool hello_retry = false;  // the server wanted another key share
};

// Why a handshake with a backend came to nothing, told apart for logs and metrics.
enum class BackendFault : uint8_t {
  name_mismatch,
  expired,
  not_yet_valid,
  unknown_authority,
  bad_certificate,
  no_common_group,
  no_common_version,
  certificate_refused,  // ours, or that there is none
  name_refused,         // it serves no such server name
  not_tls,
  closed,
  timeout,
  other,
};
inline constexpr size_t kBackendFaults = static_cast<size_t>(BackendFault::other) + 1;
std::string_view label(BackendFault fault);  // for metrics: "name_mismatch"
std::string_view text(BackendFault fault);   // for people

class BackendTlsHandler {
 public:
  // The TCP connection is there, the handshake begins: its time counts from now.
  virtual void on_tls_begun() = 0;
  // The stream's on_connected() follows.
  virtual void on_tls_done(const BackendTlsFacts& facts) = 0;
  // The handshake failed; or, later, the server sent an alert, which is only told here (in TLS 1.3
  // it looks at our certificate after our handshake is done). Do not destroy the stream in this
  // call.
  virtual void on_tls_failed(BackendFault fault, const Error& error) = 0;

 protected:
  ~BackendTlsHandler() = default;
};

struct BackendTlsStreamOptions {
  std::shared_ptr<SSL_CTX> context;  // of make_context()
  std::shared_ptr<const BackendTls> tls;
  net::Address address;  // what a certificate is held to without a name
  std::shared_ptr<BackendSessions> sessions;
  std::atomic<uint16_t>* learned = nullptr;  // the server's group after a HelloRetryRequest
  std::string preface;                       // sent before the handshake (a PROXY header)
  // What is offered by ALPN, in the form of RFC 7301 3.1, static. Empty: "http/1.1".
  std::string_view alpn = {};
};

// A TLS client stream over a connecting socket. The stream's handler hears on_connected() when the
// handshake is done, and on_stream_error() where the TCP connection fails. `handler` and `learned`
// must outlive it. The caller runs the timers.
std::unique_ptr<net::Stream> make_tls_client_stream(net::Loop& loop, net::Fd fd,
                                                    BackendTlsStreamOptions options,
                                                    BackendTlsHandler& handler);

}  // namespace pqedge::crypto
