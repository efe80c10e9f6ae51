// One try of one server for one request.
//
//   idle --begin()--> waiting for a server --> connecting --> sending, answering --> idle
//
// An exchange has one, or two while a hedge races; a shadow has one and no client. The attempt
// holds the lease and the answer's head, and reports to the server's state what became of it; what
// that means for the request (send it again, answer, break off) is its owner's to decide.
#pragma once

#include <optional>
#include <string_view>

#include "base/arena.h"
#include "base/chunk.h"
#include "http/stream.h"
#include "net/loop.h"
#include "upstream/choice.h"
#include "upstream/lease.h"
#include "upstream/pool.h"

namespace pqedge::edge {

class Attempt;

// How an attempt ended whose stream broke.
struct Loss {
  http::Abort why = http::Abort::none;
  bool unanswered = false;  // surely not processed, or a kept connection that had died
  bool sent = false;        // a byte of the request went out
  bool reused = false;      // on a kept connection
  std::string_view detail;  // for the log, valid during the call
};

// Whom an attempt works for. Calls come on the worker's thread, those of the first two perhaps from
// inside begin(). After failed, lost and timeout the attempt is idle and may begin again at once.
class AttemptOwner {
 public:
  // attempt.stream() takes the request.
  virtual void on_attempt_ready(Attempt& attempt) = 0;
  // There is no connection: no byte of the request was sent.
  virtual void on_attempt_failed(Attempt& attempt, upstream::Failure why,
                                 std::string_view detail) = 0;
  virtual void on_attempt_informational(Attempt& attempt) = 0;
  virtual void on_attempt_head(Attempt& attempt, bool end) = 0;
  virtual void on_attempt_body(Attempt& attempt, Slice bytes) = 0;
  virtual void on_attempt_end(Attempt& attempt) = 0;
  virtual void on_attempt_writable(Attempt& attempt) = 0;
  virtual void on_attempt_lost(Attempt& attempt, const Loss& loss) = 0;
  // The time given by expect() passed.
  virtual void on_attempt_timeout(Attempt& attempt) = 0;
  virtual proxy_protocol::Header attempt_proxy_header() const = 0;
  // As upstream::Requester's.
  virtual uint64_t attempt_client() const = 0;
  virtual bool attempt_authenticates() const = 0;
  virtual upstream::Purpose attempt_purpose() const { return upstream::Purpose::requests; }

 protected:
  ~AttemptOwner() = default;
};

class Attempt final : private http::ClientStreamHandler, private upstream::Requester {
 public:
  // The answer's head is stored in `arena`.
  Attempt(AttemptOwner& owner, Arena& arena);
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  // Asks `pool` for a server. `fresh`: not on a connection that was kept unused. `limit`: the time
  // to have a connection that can take the request, beside the pool's own limits; 0: those alone.
  void begin(net::Loop& loop, upstream::Pool& pool, const upstream::Choice& choice, bool fresh,
             Nanos limit = 0);
  // From begin() until the answer's end, a failure, or abandon().
  bool running() const { return running_; }

  // Null until it is ready, and from its end on.
  http::ClientStream* stream() const { return stream_; }
  http::Response& response() override { return *response_; }
  // Of the last try, also after its end: server, times, TLS.
  const upstream::Lease& lease() const { return lease_; }
  upstream::Lease& lease() { return lease_; }

  // The answer's next byte must come within `timeout`, or on_attempt_timeout().
  void expect(Nanos timeout) { lease_.expect(timeout); }
  void expect_nothing() { lease_.expect_nothing(); }

  // The answer is whole. `in_step`: so is the request; else the connection cannot be used again.
  void finish(bool in_step);
  // It is not wanted any more. Without an answer's head nothing is held against the server, unless
  // `outcome` says so.
  void abandon(upstream::Outcome::Kind outcome = upstream::Outcome::Kind::nothing);
  // Gives back all it has: the arena is to be reset.
  void clear();

 private:
  // http::ClientStreamHandler
  void on_informational() override { owner_.on_attempt_informational(*this); }
  void on_response_head(bool end) override;
  void on_response_body(Slice bytes) override { owner_.on_attempt_body(*this, std::move(bytes)); }
  void on_response_end() override { owner_.on_attempt_end(*this); }
  void on_request_writable() override { owner_.on_attempt_writable(*this); }
  void on_response_reset(http::Abort why, bool unanswered, std::string_view detail) override;
  // upstream::Requester
  void on_backend_ready(http::ClientStream& stream) override;
  void on_backend_failed(upstream::Failure why, std::string_view detail) override;
  void on_backend_timeout() override;
  http::ClientStreamHandler& client_handler() override { return *this; }
  proxy_protocol::Header proxy_header() const override { return owner_.attempt_proxy_header(); }
  uint64_t client_connection() const override { return owner_.attempt_client(); }
  bool authenticates_connection() const override { return owner_.attempt_authenticates(); }
  upstream::Purpose purpose() const override { return owner_.attempt_purpose(); }

  void on_limit();
  void report(upstream::Outcome::Kind kind);

  AttemptOwner& owner_;
  Arena& arena_;
  std::optional<http::Response> response_;
  http::ClientStream* stream_ = nullptr;
  upstream::Lease lease_;
  net::Loop* loop_ = nullptr;
  Nanos sent_at_ = 0;       // the request's head
  Nanos first_byte_ = 0;    // of the answer, from then; 0: none came
  net::Timer limit_timer_;  // armed only with a limit
  Nanos limit_ = 0;
  bool running_ = false;
};

}  // namespace pqedge::edge
