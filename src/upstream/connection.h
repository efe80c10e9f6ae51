// One connection to a backend server, from the connect to its end, and the leases that it serves.
#pragma once

#include <memory>
#include <string_view>

#include "base/intrusive_list.h"
#include "http/stream.h"
#include "net/loop.h"
#include "upstream/connector.h"
#include "upstream/lease.h"

namespace pqedge::upstream {

class Backend;
struct PinTag;

// Connecting (a TLS handshake included), then idle or in use, until it is closed. It is in one of
// its backend's lists; bound to a client connection it is also in the worker's table of pins.
class Connection final : public ListNode<Connection>,
                         public ListNode<PinTag>,
                         private ConnectorHandler,
                         private http::ClientConnectionHandler {
 public:
  Connection(Backend& backend, Purpose purpose, std::string preface);
  ~Connection();

  Backend& backend() const { return *backend_; }
  net::Loop& loop() const;
  uint64_t pinned_to() const { return pinned_to_; }

  // The lease's request goes on it now, or once it is connected. `reused`: it has been open.
  void add(Lease& lease, bool reused);
  // The lease leaves.
  void release(Lease& lease);
  // It belongs to one client connection from now on: it knows its user.
  void pin(uint64_t client);
  // Whether its client's next request can go on it; and that it does.
  bool serves_client_again() const;
  void serve_client_again(Lease& lease);
  // An answer did not come in time: the peer has to show that it lives.
  void doubt();
  // It is closed now where it is unused; else once its last lease has left.
  void retire();

 private:
  friend class Backend;
  enum class State : uint8_t { connecting, idle, in_use, closing };

  // ConnectorHandler
  void on_handshake_begun() override;
  void on_connected(std::unique_ptr<http::ClientConnection> connection,
                    const crypto::BackendTlsFacts& facts) override;
  void on_connect_failed(Failure why, std::string_view detail) override;
  void on_tls_failed(crypto::BackendFault fault, const Error& error) override;
  // http::ClientConnectionHandler
  void on_available() override;
  void on_going_away(uint64_t processed, uint64_t refused) override;
  void on_http11_required() override;
  void on_client_connection_closed(std::string_view reason) override;

  void begin();
  void on_timer();
  void on_connect_timeout();
  void serve_waiting();
  void serve(Lease& lease, bool reused);
  void detach(Lease& lease);
  void on_unused();
  void fail_connect(Failure why, std::string_view detail);
  // By itself, without regard to how many leases it has.
  bool can_serve() const;
  // Used up, or made with settings that hold no more.
  bool worn() const;
  // Nobody else may have it after its first lease.
  bool single_use() const { return opened_for_one_ || purpose_ == Purpose::bytes; }

  const std::shared_ptr<Backend> backend_;
  std::unique_ptr<Connector> connector_;                // outlives the codec
  std::unique_ptr<http::ClientConnection> connection_;  // once it is connected
  IntrusiveList<Lease> leases_;
  uint32_t lease_count_ = 0;
  uint32_t requests_ = 0;   // served so far
  uint64_t pinned_to_ = 0;  // a client connection; 0: anyone's
  State state_ = State::connecting;
  const Purpose purpose_;
  const bool opened_for_one_;  // it began with a PROXY header in one client's name
  bool multiplexes_ = false;
  bool handshake_begun_ = false;
  bool retired_ = false;
  const Nanos began_;
  Nanos idle_since_ = 0;
  crypto::BackendTlsFacts tls_;
  const uint64_t generation_;  // of the settings that it was made with
  net::Timer timer_;           // connect, handshake, unused
  net::Deferred destroy_;
};

}  // namespace pqedge::upstream
