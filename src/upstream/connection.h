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
  Connection(Backend& backend, std::string preface);
  ~Connection();

  Backend& backend() const { return *backend_; }
  uint64_t pinned_to() const { return pinned_to_; }
  // In good order when it is idle; else once the last lease has left.
  void retire();

 private:
  friend class Backend;
  friend class Lease;
  friend class Pins;
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
  void on_client_connection_closed(std::string_view reason) override;

  void on_timer();
  void on_connect_timeout();
  void serve_waiting();
  void serve(Lease& lease);
  void add(Lease& lease);
  void detach(Lease& lease);
  void release(Lease& lease);
  void on_last_lease_gone();
  bool can_serve() const;
  bool worn() const;
  void fail_connect(Failure why, std::string_view detail);

  const std::shared_ptr<Backend> backend_;
  std::unique_ptr<Connector> connector_;                // outlives the codec
  std::unique_ptr<http::ClientConnection> connection_;  // once it is connected
  IntrusiveList<Lease> leases_;
  uint32_t lease_count_ = 0;
  uint32_t requests_ = 0;      // served so far
  uint64_t pinned_to_ = 0;     // a client connection; 0: anyone's
  uint64_t opened_for_ = 0;    // the client connection whose PROXY header it began with
  State state_ = State::connecting;
  bool multiplexes_ = false;
  bool handshake_begun_ = false;
  Nanos began_ = 0;
  Nanos idle_since_ = 0;
  crypto::BackendTlsFacts tls_;
  const uint64_t generation_;  // of the settings that it was made with
  const Nanos handshake_timeout_;
  net::Timer timer_;           // connect, handshake, idle
  net::Deferred destroy_;
};

}  // namespace pqedge::upstream
