// One request and its answer: what every HTTP version is turned into and every step works on.
//
//   reading head --on_head--> steps before the route --> the route's steps
//        |                                                   |
//        | on_bad_request                    answer()  <-----+-----> forward()
//        v                                      |                       | buffer the body (R16)
//     answer() ------------------------------> sending <--- head --- an attempt <--+
//                                               |                       |          | again (R15)
//                                               |                       +- fault --+
//                         on_finished / on_reset / reset --> recorded, retired
//
// It has one attempt, or two while a hedge races; the first whose answer can be used is passed on.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "base/arena.h"
#include "base/chunk.h"
#include "edge/attempt.h"
#include "edge/body_store.h"
#include "edge/grpc.h"
#include "edge/retry.h"
#include "edge/snapshot.h"
#include "edge/tunnel.h"
#include "http/rules.h"
#include "http/stream.h"
#include "net/loop.h"
#include "upstream/choice.h"

namespace pqedge::edge {

class Shadow;
class Worker;
struct ListenerView;

struct HandshakeTag;

class Exchange final : public ListNode<Exchange>,
                       public ListNode<HandshakeTag>,
                       public http::ServerStreamHandler,
                       private AttemptOwner,
                       private TunnelOwner {
 public:
  explicit Exchange(Worker& worker);

  // Begins anew for a request on `stream`; the object is used again and again.
  void begin(http::ServerStream& stream, const ListenerView& listener);
  // Ends: all that the exchange held is given back. Called by the worker.
  void clear();

  // ---- for the steps ----
  http::Request& request() override { return *request_; }
  const net::ConnectionFacts& facts() const { return stream_->facts(); }
  const Snapshot& snapshot() const { return snapshot_->shared(); }
  const ListenerView& listener() const { return *listener_; }
  Worker& worker() { return worker_; }
  Arena& arena() { return arena_; }
  const RoutePlan& plan() const { return *plan_; }
  http::Identity& identity() { return identity_; }

  void match() {
    plan_ = request_->method == http::Method::connect
                ? &snapshot().plan_for_connect({*request_, identity_.client_ip})
                : &snapshot().plan_for({*request_, identity_.client_ip});
    target_ = &plan_->target;
  }
  // Of a connection without HTTP.
  void match_stream();
  // Another place than the route's own, for this exchange (a canary). Before forward().
  void use_target(const Target& target) { target_ = &target; }
  void choose_side();  // of the route's canary (shape.cc)
  route::Scene scene(uint16_t status);
  const Target& target() const { return *target_; }
  upstream::Pool& pool() const { return snapshot_->pool(target_->pool); }
  // Gives an answer of our own: a short text with the request ID. `reason` goes to the log and must
  // be static or in the arena.
  void answer(uint16_t status, std::string_view reason);
  // The same with a body and fields of one's own. Views are static or in the arena.
  struct Fixed {
    uint16_t status = 200;
    std::string_view body;
    std::string_view content_type = "text/plain; charset=utf-8";
    std::string_view location;
    std::string_view allow;
  };
  void answer_with(const Fixed& fixed, std::string_view reason);
  // With the page that is configured for the status. False: there is none, nothing was answered.
  bool answer_page(uint16_t status, std::string_view reason, bool from_backend);
  // What the route says of what the page needs, before the answer (early_hints.cc).
  void send_early_hints();
  // Sends the request to a server of the target's pool.
  void forward();
  // Goes on after a step that said wait.
  void resume();
  // Resumed by the worker once the client's Finished has come.
  void wait_for_handshake();
  // The request is acted on although it may be a replay (RFC 8470).
  void note_early_data() { early_data_ = true; }
  uint64_t body_received() const { return request_body_; }

 private:
  // http::ServerStreamHandler
  void on_head(bool end) override;
  void on_body(Slice bytes) override;
  void on_end() override;
  void on_bad_request(uint16_t status, std::string_view reason) override;
  void on_writable() override;
  void on_reset(http::Abort why) override;
  void on_finished() override;
  // AttemptOwner (forward.cc)
  void on_attempt_ready(Attempt& attempt) override;
  void on_attempt_failed(Attempt& attempt, upstream::Failure why, std::string_view detail) override;
  void on_attempt_informational(Attempt& attempt) override;
  void on_attempt_head(Attempt& attempt, bool end) override;
  void on_attempt_body(Attempt& attempt, Slice bytes) override;
  void on_attempt_end(Attempt& attempt) override;
  void on_attempt_writable(Attempt& attempt) override;
  void on_attempt_lost(Attempt& attempt, const Loss& loss) override;
  void on_attempt_timeout(Attempt& attempt) override;
  proxy_protocol::Header attempt_proxy_header() const override;
  uint64_t attempt_client() const override;
  bool attempt_authenticates() const override;
  upstream::Purpose attempt_purpose() const override;
  // TunnelOwner (exchange_tunnel.cc)
  void on_tunnel_silent() override;
  void on_tunnel_server_done() override;

  void run_steps();
  // Trying (try.cc).
  bool gather_body();
  void try_server(Attempt& attempt, bool fresh);
  bool try_again(Attempt& attempt, Fault fault, uint16_t status, bool fresh = true);
  bool may_repeat_body() const { return !body_passed_ || kept_whole_; }
  Attempt* other_running(const Attempt& attempt);
  // It asks for a tunnel: there is no body that could be gathered, copied or sent again.
  bool asks_for_tunnel() const {
    return !request_->upgrade.empty() || request_->method == http::Method::connect;
  }
  RetryBudget& budget() const { return snapshot_->budget(target_->pool); }
  void on_try_timer();
  void hedge();
  void note_winner(Attempt& attempt);
  bool again_after_status(Attempt& attempt, bool end);
  void on_deadline();
  void drop_attempts();
  // The request's body.
  void send_continue();
  void pass_body(http::ClientStream& stream, Slice bytes);
  void credit_request();
  void stop_request_body();
  void begin_shadow();
  void drop_shadow();
  // As the route changes it (shape.cc), where plan().shape says so.
  bool shape_request();
  void shape_response(http::Response& response);
  bool replace_error(Attempt& attempt);
  void report_canary(uint16_t status);
  // The answer.
  void use_answer_of(Attempt& attempt);
  bool holds_answer(const http::Response& response) const;
  void start_answer(Attempt& attempt, bool end);
  void hold_body(Attempt& attempt, Slice bytes);
  void release_held(Attempt& attempt);
  void end_held(Attempt& attempt);
  void credit_response();
  void finish_backend();
  bool take_tunnel_answer(Attempt& attempt);
  void begin_tunnel(Attempt& attempt);
  // gRPC (grpc.cc).
  bool begin_grpc();
  bool decodes_grpc() const;
  bool decode_grpc(Slice& bytes);
  bool answer_grpc(uint16_t status, std::string_view reason);
  void add_grpc_status(http::Fields& fields, http::GrpcStatus status, std::string_view reason);
  void begin_grpc_answer(http::Response& response, bool end);
  bool end_grpc(std::string_view reason);
  void send_answer_body(Slice bytes);
  void send_answer_end(const http::Fields& trailers);
  void fail_after_start(std::string_view reason, bool by_client = false);
  void record(std::string_view end);
  void count_stream();
  void retire();

  Worker& worker_;
  Arena arena_;
  std::optional<http::Request> request_;
  std::optional<http::Response> response_;  // an answer of our own
  SnapshotRef snapshot_;
  const ListenerView* listener_ = nullptr;
  const RoutePlan* plan_ = nullptr;
  const Target* target_ = nullptr;
  http::ServerStream* stream_ = nullptr;  // null once it is gone
  http::Identity identity_;

  Attempt first_;
  std::unique_ptr<Attempt> second_;  // of a hedge
  Attempt* attempt_ = &first_;       // the one whose answer is, or is to be, passed on
  upstream::Choice choice_;
  Tries tries_;
  net::Timer try_timer_;       // the next try, or the hedge
  net::Timer deadline_timer_;  // of the whole request

  BodyStore pending_;               // of the request's body: no server has had it
  BodyStore kept_;                  // what a server has had, to be sent again
  BodyStore held_;                  // of the answer's body: the client has not had it
  std::unique_ptr<Tunnel> tunnel_;  // once the answer has begun one
  std::unique_ptr<GrpcCall> grpc_;  // of a call that is forwarded
  Shadow* shadow_ = nullptr;        // takes a copy of the body as it comes
  uint64_t request_body_ = 0;       // bytes received
  size_t credited_ahead_ = 0;       // of pending_, from its front
  size_t request_uncredited_ = 0;   // passed on, credit not given back yet
  size_t response_uncredited_ = 0;
  Nanos began_ = 0;
  Nanos first_byte_ = 0;  // of the answer from the backend
  std::string_view reason_;
  std::string_view came_target_;  // the client's, where a rewrite has changed the request's
  std::string_view came_authority_;
  std::string_view set_cookie_;  // the client's number of the canary
  uint16_t status_ = 0;          // sent to the client; 0: none
  const Step* step_ = nullptr;
  const Step* steps_end_ = nullptr;

  bool in_route_ = false;
  bool early_data_ = false;
  bool request_ended_ = false;
  bool gathering_ = false;  // the body is read before a server is asked
  bool again_due_ = false;  // the try timer begins another try, else a hedge
  bool hedged_ = false;
  bool body_passed_ = false;    // some of the body went to a server
  bool kept_whole_ = false;     // and all that did is kept
  bool holding_ = false;        // the answer is read before the client gets it
  bool dropping_body_ = false;  // an answer of our own: what still comes is not wanted
  bool response_started_ = false;
  bool response_done_ = false;
  bool on_canary_ = false;
  bool retired_ = false;
};

}  // namespace pqedge::edge
