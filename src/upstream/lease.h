// A requester's hold on one connection to a backend server.
#pragma once

#include <memory>
#include <string_view>

#include "base/intrusive_list.h"
#include "crypto/backend_tls.h"
#include "http/stream.h"
#include "net/loop.h"
#include "upstream/server_state.h"
#include "wire/proxy_protocol/header.h"

namespace pqedge::upstream {

class Connection;
class Lease;

enum class Failure : uint8_t {
  no_capacity,      // every server is at its maximum of connections: 503
  own_shortage,     // we have no descriptor or memory for a connection: 503
  connect_failed,   // refused, unreachable, reset before it was made: 502
  connect_timeout,  // 504
  tls_failed,       // the handshake, or what the server's certificate says: 502
  tls_timeout,      // 504
};

// What a connection is wanted for.
enum class Purpose : uint8_t {
  requests,
  upgrade,  // one that may become a tunnel (http::Request::upgrade): HTTP/1.1, whatever else the
            // pool speaks; one that was kept will do
  bytes     // no HTTP: a tunnel from its first byte (wire/bytes/client.h), always a new connection
};

// Who asked for a connection. Calls come on the worker's thread, perhaps from inside acquire().
class Requester {
 public:
  // `stream` takes one request. It has been opened with client_handler().
  virtual void on_backend_ready(http::ClientStream& stream) = 0;
  virtual void on_backend_failed(Failure why, std::string_view detail) = 0;
  // The time given by Lease::expect() passed. The stream was cancelled.
  virtual void on_backend_timeout() = 0;
  virtual http::ClientStreamHandler& client_handler() = 0;
  // The client's addresses and TLS, for a backend that wants a PROXY header. Asked once a new
  // connection.
  virtual proxy_protocol::Header proxy_header() const = 0;

  // The client's connection, as net::ConnectionFacts::id; 0: there is none (a shadow, a probe).
  virtual uint64_t client_connection() const { return 0; }
  // The request proves its user to the connection that carries it (http::authenticates_connection):
  // it goes on one that belongs to this client connection alone.
  virtual bool authenticates_connection() const { return false; }
  virtual Purpose purpose() const { return Purpose::requests; }

 protected:
  ~Requester() = default;
};

// Where a lease waits for its turn (a pool's queue). The lease leaves it when it is abandoned.
class WaitingPlace {
 public:
  // `lease` is given up. It is unlinked from its list already.
  virtual void on_waiter_gone(Lease& lease) = 0;

 protected:
  ~WaitingPlace() = default;
};

// A hold on one connection, or on one being made, or a place in a queue. A connection serves one
// lease (HTTP/1.1) or many at a time (HTTP/2, HTTP/3). Movable by nobody: a member.
//
// It is linked in the list of its connection, or in that of its queue; never in both.
class Lease final : public ListNode<Lease> {
 public:
  explicit Lease(Requester& requester);
  ~Lease() { abandon(); }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  bool held() const { return connection_ != nullptr; }
  Requester& requester() const { return *requester_; }
  // Of the connection, or of the last there was. Null before the first.
  const ServerState* server() const { return server_.get(); }
  const std::shared_ptr<ServerState>& server_ref() const { return server_; }
  // How long the connect took; 0 when a kept connection was used.
  Nanos connect_time() const { return connect_time_; }
  // The connection had been open before this lease came to it.
  bool reused() const { return reused_; }
  // Of the connection, or of the last there was; empty texts where it has no TLS.
  const crypto::BackendTlsFacts& tls() const { return tls_; }

  // The right to be at server(), from ServerState::enter(); report() at the request's end takes it.
  Ticket& ticket() { return ticket_; }
  // For who chooses servers: the request is in ServerState::active of the next one already, since
  // its place there was limited and had to be taken.
  void set_counted(bool counted) { counted_ = counted; }

  // An answer (its first byte, its next byte) must come within `timeout`, or on_backend_timeout().
  void expect(Nanos timeout);
  // Nothing is waited for (the client is slow, not the backend).
  void expect_nothing();
  // The answer showed that the connection knows its user, or is about to
  // (http::challenges_connection): it is never given to another client connection.
  void bind_to_client();
  // The exchange with the backend ended in good order (both directions complete), or the stream was
  // reset: the connection goes back to its backend by itself.
  void finish();
  // Drops the stream (HTTP/1.1: and the connection with it), the attempt to make a connection, or
  // the place in a queue. The requester hears nothing more.
  void abandon();

  // For who keeps a queue: the lease waits in `place` until one or the other gives it up.
  void wait_in(WaitingPlace& place) { place_ = &place; }
  void leave_place() { place_ = nullptr; }
  bool waiting() const { return place_ != nullptr; }

 private:
  friend class Backend;
  friend class Connection;
  void on_timer();

  Requester* requester_;
  Connection* connection_ = nullptr;
  http::ClientStream* stream_ = nullptr;  // once the connection serves it
  WaitingPlace* place_ = nullptr;
  std::shared_ptr<ServerState> server_;
  crypto::BackendTlsFacts tls_;
  Nanos connect_time_ = 0;
  bool reused_ = false;
  bool counted_ = false;
  Ticket ticket_;
  net::Timer timer_;
};

}  // namespace pqedge::upstream
