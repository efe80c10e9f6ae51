// One worker's connections to one backend server.
#pragma once

#include <memory>

#include "base/intrusive_list.h"
#include "crypto/backend_tls.h"
#include "upstream/backend_tls.h"
#include "http/limits.h"
#include "http/stream.h"
#include "net/loop.h"
#include "net/stream.h"
#include "upstream/server_state.h"
#include "upstream/settings.h"
#include "wire/proxy_protocol/header.h"

namespace pqedge::upstream {

class Backend;
class Connection;
class Lease;

enum class Failure : uint8_t {
  no_capacity,      // every server is at its maximum of connections: 503
  connect_failed,   // refused, unreachable, reset before it was made: 502
  connect_timeout,  // 504
  tls_failed,       // the handshake, or what the server's certificate says: 502
  tls_timeout,      // 504
};

// Who asked for a connection. Calls come on the worker's thread, perhaps from inside acquire().
class Requester {
 public:
  // `stream` takes one request. It has been opened with client_handler().
  virtual void on_backend_ready(http::ClientStream& stream) = 0;
  virtual void on_backend_failed(Failure why, std::string_view detail) = 0;
  // The time given by Lease::expect() or progress() passed. The stream was cancelled.
  virtual void on_backend_timeout() = 0;
  virtual http::ClientStreamHandler& client_handler() = 0;
  // The client's addresses and TLS, for a backend that wants a PROXY header. Asked once a new
  // connection.
  virtual proxy_protocol::Header proxy_header() const = 0;

 protected:
  ~Requester() = default;
};

// A requester's hold on one connection (or on one being made). Movable by nobody: a member.
class Lease {
 public:
  explicit Lease(Requester& requester) : requester_(&requester) {}
  ~Lease() { abandon(); }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  bool held() const { return connection_ != nullptr; }
  const ServerState* server() const { return server_.get(); }
  // How long the connect took; 0 when a kept connection was used.
  Nanos connect_time() const { return connect_time_; }
  bool reused() const { return reused_; }
  // Of the connection, or of the last there was; empty texts where it has no TLS.
  const crypto::BackendTlsFacts& tls() const { return tls_; }

  // An answer (its first byte, its next byte) must come within `timeout`, or on_backend_timeout().
  void expect(Nanos timeout);
  // Nothing is waited for (the client is slow, not the backend).
  void expect_nothing();
  // The exchange with the backend ended in good order (both directions complete): the connection
  // goes back to its backend by itself.
  void finish();
  // Drops the connection, or the attempt to make it: the stream is cancelled.
  void abandon();

 private:
  friend class Backend;
  friend class Connection;
  Requester* requester_;
  Connection* connection_ = nullptr;
  std::shared_ptr<ServerState> server_;
  crypto::BackendTlsFacts tls_;
  Nanos connect_time_ = 0;
  bool reused_ = false;
};

// One connection: connecting (a TLS handshake included), then idle or in use, until it is closed.
class Connection final : public ListNode<Connection>,
                         private net::StreamHandler,
                         private crypto::BackendTlsHandler,
                         private http::ClientConnectionHandler {
 public:
  // `preface` goes out before the TLS handshake.
  Connection(Backend& backend, net::Fd fd, std::string preface);
  ~Connection();

 private:
  friend class Backend;
  friend class Lease;
  enum class State : uint8_t { connecting, idle, in_use, closing };

  void on_readable() override {}
  void on_writable() override {}
  void on_stream_error(const Error& error) override;
  void on_connected() override;
  void on_tls_begun() override;
  void on_tls_done(const crypto::BackendTlsFacts& facts) override;
  void on_tls_failed(crypto::BackendFault fault, const Error& error) override;
  void on_available() override;
  void on_client_connection_closed(std::string_view reason) override;
  void on_timer();
  void on_connect_timeout();
  void serve(Lease& lease);
  void write_proxy_header();
  void detach_lease();
  void fail_connect(Failure why, std::string_view detail);

  std::shared_ptr<Backend> backend_;
  std::unique_ptr<net::Stream> connecting_;           // until it is connected
  std::unique_ptr<http::ClientConnection> connection_;  // from then on
  Lease* lease_ = nullptr;
  http::ClientStream* stream_ = nullptr;  // of the lease
  State state_ = State::connecting;
  Nanos began_ = 0;
  crypto::BackendTlsFacts tls_;
  const uint64_t tls_fingerprint_;  // of the settings that it was made with; 0: no TLS
  const Nanos tls_timeout_;
  bool tls_begun_ = false;
  net::Timer timer_;
  net::Deferred destroy_;
};

// Kept alive by the pools that name it and by its connections.
class Backend : public std::enable_shared_from_this<Backend> {
 public:
  Backend(net::Loop& loop, std::shared_ptr<ServerState> state)
      : loop_(loop), state_(std::move(state)) {}
  ~Backend();

  const ServerState& state() const { return *state_; }
  ServerState& state() { return *state_; }

  // Settings that may change with a reload. `max_idle` is this worker's share.
  void configure(const PoolSettings& settings, uint32_t max_idle,
                 std::shared_ptr<const http::Limits> limits,
                 std::shared_ptr<const crypto::BackendTls> tls);

  // Takes a kept connection (the most recently used: the others may time out) or opens one.
  // `fresh`: never a kept one. False: the server is at its maximum; nothing was called.
  bool acquire(Lease& lease, bool fresh);

  void close_idle();
  // Destroys every connection at once; their leases' requesters hear nothing (the worker ends).
  void close_all();
  size_t idle() const { return idle_count_; }

 private:
  friend class Connection;
  friend class Lease;
  void open(Lease& lease);
  std::unique_ptr<net::Stream> make_stream(net::Fd fd, std::string preface,
                                           crypto::BackendTlsHandler& handler);
  void use_tls(std::shared_ptr<const crypto::BackendTls> tls);
  uint64_t tls_fingerprint() const { return tls_ == nullptr ? 0 : tls_->fingerprint(); }
  void put_idle(Connection& connection);

  net::Loop& loop_;
  std::shared_ptr<ServerState> state_;
  std::shared_ptr<const http::Limits> limits_;
  Nanos connect_timeout_ = 0;
  Nanos idle_timeout_ = 0;
  uint32_t max_idle_ = 0;
  uint32_t max_connections_ = 0;
  uint8_t send_proxy_ = 0;
  std::shared_ptr<const crypto::BackendTls> tls_;  // null: no TLS
  std::shared_ptr<SSL_CTX> tls_context_;
  std::shared_ptr<crypto::BackendSessions> tls_sessions_;
  TlsCounters tls_counters_;
  IntrusiveList<Connection> idle_;   // front: most recently used
  IntrusiveList<Connection> others_; // connecting, in use, closing
  uint32_t idle_count_ = 0;
};

}  // namespace pqedge::upstream
