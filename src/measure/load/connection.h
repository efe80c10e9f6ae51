// What the three protocols have in common: a connection that carries exchanges.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "measure/load/options.h"
#include "measure/load/request_plan.h"
#include "measure/load/tally.h"
#include "measure/load/tls_client.h"
#include "net/address.h"

namespace pqedge::measure::load {

// What all connections of a run share.
struct Context {
  const Options& options;
  const RequestPlan& plan;
  TlsClient* tls;  // null for clear text
  Tally& tally;
  net::Address server;
  std::vector<net::Address> local;  // used in turn
  TlsFacts facts;                   // of the latest handshake
  // Requests that a server surely did not process (GOAWAY, REFUSED_STREAM): to be sent again.
  std::deque<Nanos> again;
  // One receive buffer for all: a connection keeps nothing in it past its turn.
  std::vector<uint8_t> buffer;
};

class Connection {
 public:
  enum class State : uint8_t {
    kConnecting,
    kReady,
    kLeaving,  // takes no new requests: the peer announced the end, or we are done with it
    kClosed
  };

  Connection(Context& context, size_t streams);
  virtual ~Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Begins to connect.
  virtual Result<void> open(Nanos now) = 0;
  virtual int descriptor() const = 0;
  virtual void on_events(uint32_t epoll_events, Nanos now) = 0;
  // The time of deadline() has come.
  virtual void on_deadline(Nanos now) = 0;
  // How many requests submit() would take now.
  virtual size_t room() const;
  // `intended` is the time from which the latency counts.
  virtual void submit(Nanos intended, Nanos now) = 0;
  // Sends what the turn has gathered.
  virtual void flush(Nanos now) = 0;
  // Says goodbye as the protocol has it and closes; what is in flight is lost.
  virtual void close(Nanos now) = 0;
  // Traffic that only the connection itself knows of, since it was opened.
  virtual Traffic transport_traffic() const { return {}; }

  State state() const { return state_; }
  size_t in_flight() const { return active_; }
  Nanos deadline() const { return deadline_; }
  bool wants_write() const { return wants_write_; }
  // Fails requests, or the handshake, that take longer than options.timeout.
  void expire(Nanos now);

 protected:
  Exchange& take(Nanos intended, Nanos now);
  // A complete answer. The exchange is free again afterwards.
  void finish(Exchange& exchange, Nanos now);
  void fail_exchange(Exchange& exchange, Failure failure, std::string_view detail);
  void send_again(Exchange& exchange);

  void become_ready(SSL* ssl, Nanos now);
  // The connection is over, and what is in flight failed. A connection that was never ready counts
  // as one failure itself.
  void lost(Failure failure, std::string_view detail);
  void leave();
  // Closed by us: what is in flight stays unanswered.
  void abandon();

  Context& context_;
  State state_ = State::kConnecting;
  Nanos opened_ = 0;
  Nanos deadline_ = kNever;
  bool wants_write_ = false;
  std::vector<Exchange> exchanges_;

 private:
  void release(Exchange& exchange);

  std::vector<uint32_t> free_;
  size_t active_ = 0;
};

std::unique_ptr<Connection> make_connection(Context& context);

}  // namespace pqedge::measure::load
