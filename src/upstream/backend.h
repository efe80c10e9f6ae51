// One worker's connections to one backend server.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>

#include "base/intrusive_list.h"
#include "crypto/backend_tls.h"
#include "http/limits.h"
#include "net/loop.h"
#include "upstream/backend_tls.h"
#include "upstream/connection.h"
#include "upstream/lease.h"
#include "upstream/pins.h"
#include "upstream/server_state.h"
#include "upstream/settings.h"

namespace pqedge::upstream {

// Told, from the end of a turn, that a server may take another request: a connection is unused
// again, a stream ended, a connection was closed. Only of this worker: that another one closed a
// connection, which counts for max_connections, is not told.
class RoomWatcher : public ListNode<RoomWatcher> {
 public:
  virtual void on_backend_room(Backend& backend) = 0;

 protected:
  ~RoomWatcher() = default;
};

// Kept alive by the pools that name it and by its connections.
class Backend : public std::enable_shared_from_this<Backend> {
 public:
  // `pins` is the worker's, and outlives it.
  Backend(net::Loop& loop, std::shared_ptr<ServerState> state, Pins& pins);
  ~Backend();

  const ServerState& state() const { return *state_; }
  ServerState& state() { return *state_; }
  const std::shared_ptr<ServerState>& state_ref() const { return state_; }

  // Settings that may change with a reload. `max_idle` is this worker's share.
  void configure(const PoolSettings& settings, uint32_t max_idle,
                 std::shared_ptr<const http::Limits> limits,
                 std::shared_ptr<const crypto::BackendTls> tls);

  // Takes a kept connection (the most recently used: the others may time out), a place on one that
  // multiplexes, or one that is being made, or opens one.
  // `fresh`: never one that was kept unused, and may have died meanwhile. What is wanted, and whose
  // connection it is to be, the lease's requester says.
  // False: the server is at its maximum; nothing was called.
  bool acquire(Lease& lease, bool fresh);

  void watch_room(RoomWatcher& watcher) { watchers_.push_back(watcher); }

  void close_idle();
  // Destroys every connection at once; their leases' requesters hear nothing (the worker ends).
  void close_all();
  size_t idle() const { return idle_count_; }
  // Of this worker: open or being made.
  size_t connections() const { return connection_count_; }

 private:
  friend class Connection;
  friend class Pins;
  // Whether connections multiplex, before one is made.
  enum class Multiplexing : uint8_t { no, yes, unknown };

  Connection* find(const Requester& requester, bool fresh);
  Connection* find_idle();
  Connection* find_shared();
  Connection* find_connecting();
  bool at_maximum() const;
  uint32_t streams_each() const { return std::min(max_streams_, usable_streams_); }
  void open(Lease& lease);
  std::unique_ptr<Connector> make_connector(Purpose purpose, std::string preface,
                                            http::ClientConnectionHandler& owner,
                                            ConnectorHandler& handler);
  void use_protocol(Protocol protocol);
  void use_tls(std::shared_ptr<const crypto::BackendTls> tls);
  void outdate_connections();
  void put_idle(Connection& connection);
  bool keeps(const Connection& connection) const;
  void note_connected(Connection& connection);
  void note_served(const Connection& connection);
  void note_going_away(uint64_t processed, uint64_t refused);
  void note_http11_required();
  void note_room();
  void tell_room();

  net::Loop& loop_;
  const std::shared_ptr<ServerState> state_;
  Pins& pins_;
  std::shared_ptr<const http::Limits> limits_;
  Protocol protocol_ = Protocol::http1;
  Multiplexing multiplexing_ = Multiplexing::no;
  bool http11_required_ = false;  // whatever ALPN would say
  uint8_t send_proxy_ = 0;
  Nanos connect_timeout_ = 0;
  Nanos idle_timeout_ = 0;
  Nanos max_age_ = 0;
  uint32_t max_idle_ = 0;
  uint32_t max_connections_ = 0;
  uint32_t max_requests_ = 0;
  uint32_t max_streams_ = 1;
  uint32_t usable_streams_ = UINT32_MAX;  // what the server was seen to take before its GOAWAY
  uint64_t generation_ = 1;
  std::shared_ptr<const crypto::BackendTls> tls_;  // null: no TLS
  std::shared_ptr<SSL_CTX> tls_context_;
  std::shared_ptr<crypto::BackendSessions> tls_sessions_;
  TlsCounters tls_counters_;
  IntrusiveList<Connection> idle_;        // front: most recently used
  IntrusiveList<Connection> shared_;      // multiplex, in use, may have room
  IntrusiveList<Connection> connecting_;  // that more leases may wait for
  IntrusiveList<Connection> others_;      // connecting, in use, full, bound, closing
  IntrusiveList<RoomWatcher> watchers_;
  net::Deferred room_;
  uint32_t idle_count_ = 0;
  uint32_t connection_count_ = 0;
};

}  // namespace pqedge::upstream
