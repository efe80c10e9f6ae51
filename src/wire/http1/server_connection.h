// The server side of one HTTP/1 connection: one request at a time, and the connection around it.
//
// The connection is in one `Phase`. A request and its answer are two halves that run side by side;
// the exchange is over when both are, and only then is the next request read from what came
// meanwhile. What ends something for others (a finished request, a failure, the connection itself)
// is told from the end of the turn, never from inside a call.
//
//   idle -> head -> body -> complete -> (answer out) -> idle
//             \        \-> dropping --> (answer out) -> lingering -> closed
//              `--------> refused ----/
//
// A tunnel (http/stream.h) begins with the head of its answer: complete -> tunnel -> complete, with
// what the client sends between, as it is.
#pragma once

#include <memory>
#include <string_view>

#include "http/limits.h"
#include "http/stream.h"
#include "net/stream.h"
#include "wire/http1/body_reader.h"
#include "wire/http1/head_parser.h"
#include "wire/http1/input.h"
#include "wire/http1/writer.h"

namespace pqedge::http1 {

class ServerConnection final : public http::ServerConnection,
                               public http::ServerStream,
                               public net::StreamHandler {
 public:
  ServerConnection(net::Loop& loop, std::unique_ptr<net::Stream> stream,
                   const net::ConnectionFacts& facts, std::shared_ptr<const http::Limits> limits,
                   http::ServerConnectionHandler& handler);

  // http::ServerConnection
  void drain(Nanos linger) override;
  void close_now() override;
  size_t active_streams() const override { return request_ != nullptr ? 1 : 0; }

  // http::ServerStream
  void send_informational(const http::Response& response) override;
  void send_head(const http::Response& response, bool end) override;
  void send_body(Slice bytes) override;
  void send_end(const http::Fields* trailers) override;
  size_t backlog() const override { return stream_->backlog(); }
  void consumed(size_t n) override;
  void ignore_request_body() override;
  void reset(http::Abort why) override;
  void close_after() override { keep_alive_ = false; }
  const net::ConnectionFacts& facts() const override { return facts_; }
  uint64_t stream_id() const override { return requests_ - 1; }
  uint64_t bytes_in() const override { return input_.consumed() - input_before_; }
  uint64_t bytes_out() const override { return heads_written_ + body_out_.written(); }

  // net::StreamHandler
  void on_readable() override;
  void on_writable() override;
  void on_stream_error(const Error& error) override;

 private:
  enum class Phase : uint8_t {
    idle,       // between requests
    head,       // a head has begun
    body,       // the body is read and handed over
    complete,   // the request was read to its end
    tunnel,     // what comes is handed over as it is, to the end of the peer's direction
    dropping,   // the rest of the body is unwanted: read and dropped
    refused,    // out of step: whatever comes is dropped
    lingering,  // the answer is out and our direction closed: waiting for the peer's end
    closed      // told, or to be told, to the owner
  };
  enum class Answer : uint8_t { none, head_due, body_due, sent };
  enum class Clock : uint8_t { none, idle, head, body, linger };

  // Reading (server_request.cc).
  bool wants_input() const;
  void process();
  bool step();
  bool read_head();
  bool check_start_line(std::string_view bytes);
  http::Request& open_request();
  void refuse_head(uint16_t status, std::string_view reason);
  void begin_request(const HeadScanner::Outcome& found);
  std::expected<Framing, http::Refusal> read_request(std::string_view head,
                                                     std::span<const uint32_t> lines,
                                                     http::Request& request);
  bool read_body();
  bool drop_body();
  bool read_tunnel();
  void refuse(uint16_t status, std::string_view reason);
  void on_input_end();
  void on_input_error(std::string_view reason);
  size_t window() const;

  // Writing (server_response.cc).
  Framing plan_framing(const http::Response& response, bool end) const;
  bool plan_persistence();
  void begin_tunnel(const http::Response& response);
  void write_head(Bytes head);

  // The connection (server.cc).
  void schedule() { loop_.defer(turn_end_); }
  void on_turn_end();
  void settle();
  void finish_request();
  void become_idle();
  void linger();
  void close(std::string_view reason);
  void fail(http::Abort why, std::string_view reason);
  void set_clock(Clock clock, Nanos after);
  void on_clock();
  void on_send_clock();
  HeadLimits head_limits() const {
    return {limits_->max_target, limits_->max_fields, limits_->max_head};
  }

  net::Loop& loop_;
  const std::unique_ptr<net::Stream> stream_;
  const net::ConnectionFacts& facts_;
  const std::shared_ptr<const http::Limits> limits_;
  http::ServerConnectionHandler& owner_;

  http::ServerStreamHandler* request_ = nullptr;  // the exchange under way
  http::Request* message_ = nullptr;              // its request
  Input input_;
  HeadScanner head_{HeadKind::request};
  BodyReader body_in_;
  BodyWriter body_out_;

  Phase phase_ = Phase::idle;
  Answer answer_ = Answer::none;
  Clock clock_kind_ = Clock::none;
  http::Abort failure_ = http::Abort::none;
  bool keep_alive_ = true;  // the connection may take another request after this one
  bool draining_ = false;
  bool input_ended_ = false;  // the peer closed its direction
  bool processing_ = false;
  bool paused_ = false;           // the stream was told to stop reading
  bool more_input_ = false;       // the budget of a turn was spent before the input was
  bool blocked_ = false;          // the window is used up
  bool process_due_ = false;      // what was read can go on being read by process()
  bool above_low_water_ = false;  // the handler waits for on_writable()
  bool blank_line_ = false;       // an empty line came before the request line
  bool start_line_good_ = false;  // it was looked at before its head was complete
  bool continue_due_ = false;     // the client holds its body back for a 100

  uint64_t requests_ = 0;
  uint64_t input_before_ = 0;   // input_.consumed() when this request began
  uint64_t heads_written_ = 0;  // bytes of this request's answers
  uint64_t body_received_ = 0;
  uint64_t dropped_ = 0;       // bytes read and dropped since the request was given up
  uint64_t unconsumed_ = 0;    // body bytes handed over and not given back
  uint64_t unsent_seen_ = 0;   // the backlog when the send clock was set
  uint64_t written_seen_ = 0;  // and bytes_out()

  Nanos drain_linger_ = 0;
  std::string_view close_reason_;
  net::Timer clock_;
  net::Timer send_clock_;
  net::Deferred turn_end_;
};

}  // namespace pqedge::http1
