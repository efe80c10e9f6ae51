// One request and its answer: what every HTTP version is turned into and every step works on.
//
//   reading head --on_head--> steps before the route --> the route's steps
//        |                                                   |
//        | on_bad_request                    answer()  <-----+-----> forward()
//        v                                      |                       |
//     answer() ------------------------------> sending <---- response head from the backend
//                                               |
//                         on_finished / on_reset / reset --> recorded, retired
#pragma once

#include <optional>
#include <string_view>

#include "base/arena.h"
#include "base/chunk.h"
#include "edge/snapshot.h"
#include "http/rules.h"
#include "http/stream.h"
#include "upstream/backend.h"

namespace pqedge::edge {

class Worker;
struct ListenerView;

struct HandshakeTag;

class Exchange final : public ListNode<Exchange>,
                       public ListNode<HandshakeTag>,
                       public http::ServerStreamHandler,
                       private http::ClientStreamHandler,
                       private upstream::Requester {
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

  void match() { plan_ = &snapshot().plan_for({*request_, identity_.client_ip}); }
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
  // Sends the request to a server of the plan's pool.
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
  // http::ClientStreamHandler
  http::Response& response() override { return *response_; }
  void on_informational() override;
  void on_response_head(bool end) override;
  void on_response_body(Slice bytes) override;
  void on_response_end() override;
  void on_request_writable() override;
  void on_response_reset(http::Abort why, bool unanswered, std::string_view detail) override;
  // upstream::Requester
  void on_backend_ready(http::ClientStream& stream) override;
  void on_backend_failed(upstream::Failure why, std::string_view detail) override;
  void on_backend_timeout() override;
  http::ClientStreamHandler& client_handler() override { return *this; }
  proxy_protocol::Header proxy_header() const override;

  void run_steps();
  void acquire(bool fresh);
  bool may_send_again(bool unanswered, bool anything_sent) const;
  void send_again();
  void pass_body(Slice bytes);
  void credit_request();
  void credit_response();
  void stop_request_body();
  void finish_backend();
  void fail_after_start(std::string_view reason);
  void record(std::string_view end);
  void retire();

  Worker& worker_;
  Arena arena_;
  std::optional<http::Request> request_;
  std::optional<http::Response> response_;
  SnapshotRef snapshot_;
  const ListenerView* listener_ = nullptr;
  const RoutePlan* plan_ = nullptr;
  http::ServerStream* stream_ = nullptr;         // null once it is gone
  http::ClientStream* client_stream_ = nullptr;  // while a backend works on it
  upstream::Lease lease_;
  const upstream::ServerState* failed_server_ = nullptr;
  http::Identity identity_;

  SliceQueue pending_body_;       // of the request, while no backend has it
  uint64_t request_body_ = 0;     // bytes received
  size_t request_uncredited_ = 0; // passed on, credit not given back yet
  size_t response_uncredited_ = 0;
  Nanos began_ = 0;
  Nanos first_byte_ = 0;          // of the answer from the backend
  Nanos connect_time_ = 0;
  std::string_view reason_;
  uint16_t status_ = 0;           // sent to the client; 0: none
  uint8_t attempts_ = 0;
  const Step* step_ = nullptr;
  const Step* steps_end_ = nullptr;

  bool in_route_ = false;
  bool early_data_ = false;
  bool request_ended_ = false;
  bool body_passed_ = false;      // some of the body went to a backend: it cannot be sent again
  bool dropping_body_ = false;    // an answer of our own: what still comes is not wanted
  bool response_started_ = false;
  bool response_done_ = false;
  bool retired_ = false;
};

}  // namespace pqedge::edge
