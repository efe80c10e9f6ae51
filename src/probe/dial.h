// Connections to the probed server: to one address, a bounded number of them, each with a deadline.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "net/address.h"
#include "net/socket.h"
#include "probe/options.h"

namespace pqedge::probe {

// What a whole probe may open, TCP and QUIC together (run.cc states where they go).
inline constexpr unsigned kMaxConnections = 75;

// Addresses of the host, in the resolver's order.
Result<std::vector<net::Address>> resolve(const Options& options);

// Waits for poll() events. The error's code is ETIMEDOUT when the deadline comes first.
Result<void> wait_for(int socket, short events, Nanos deadline);
Result<void> send_all(int socket, Bytes bytes, Nanos deadline);

struct Connection {
  net::Fd socket;  // connected, non-blocking; after STARTTLS, where that was asked for
  Nanos deadline = 0;
};

// Used by several threads at once.
class Dialer {
 public:
  Dialer(const Options& options, net::Address address)
      : options_(options), address_(std::move(address)) {}

  Result<Connection> connect();
  // Counts a connection that is opened elsewhere (QUIC); an error when there were enough.
  Result<void> take_one();

  const Options& options() const { return options_; }
  const net::Address& address() const { return address_; }
  unsigned used() const { return used_.load(std::memory_order_relaxed); }

 private:
  const Options& options_;
  const net::Address address_;
  std::atomic<unsigned> used_{0};
};

}  // namespace pqedge::probe
