// The client side of one HTTP/1 connection: one request at a time toward a backend.
//
// The request goes out and the answer comes in side by side. The connection takes another request
// when both were whole and nothing came beyond the answer; in every other case it is closed, since
// what a later request would read is not certain to be its own.
//
// A 101 to a request that asked for an upgrade makes the connection a tunnel (http/stream.h): bytes
// both ways to the end of each direction, and no request after it.
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

class ClientConnection final : public http::ClientConnection,
                               public http::ClientStream,
                               public net::StreamHandler {
 public:
  ClientConnection(net::Loop& loop, std::unique_ptr<net::Stream> stream,
                   std::shared_ptr<const http::Limits> limits,
                   http::ClientConnectionHandler& handler);

  // http::ClientConnection
  http::ClientStream& open_stream(http::ClientStreamHandler& handler) override;
  bool available() const override { return answer_ == Answer::none && !closed_; }
  void close() override;
  bool quiet() const override;

  // http::ClientStream
  void send_request_head(const http::Request& request, bool end) override;
  void send_request_body(Slice bytes) override;
  void send_request_end(const http::Fields* trailers) override;
  size_t request_backlog() const override { return stream_->backlog(); }
  void response_consumed(size_t n) override;
  void cancel() override;
  bool anything_sent() const override;
  uint64_t earlier_requests() const override { return requests_ - 1; }

  // net::StreamHandler
  void on_readable() override;
  void on_writable() override;
  void on_stream_error(const Error& error) override;

 private:
  // The answer: `none` is an idle connection, `whole` one whose request is still going out.
  enum class Answer : uint8_t { none, head, body, tunnel, whole };
  enum class Sending : uint8_t { nothing, head_due, body_due, whole };

  // client_response.cc
  bool wants_input() const;
  void process();
  bool step();
  bool drop_stray();
  bool read_head();
  void take_head(const HeadScanner::Outcome& found);
  std::expected<Framing, http::Refusal> read_response(std::string_view head,
                                                      std::span<const uint32_t> lines,
                                                      http::Response& response) const;
  void take_informational(uint16_t status);
  void begin_answer(const Framing& framing, http::Response& response);
  void begin_tunnel(http::Response& response);
  bool read_body();
  bool read_tunnel();
  http::ClientStreamHandler& finish_answer();
  void on_input_end(bool truncated);
  size_t window() const;

  // client.cc
  void schedule() { loop_.defer(turn_end_); }
  void on_turn_end();
  void release_stream();
  void release_tunnel();
  void shut(std::string_view reason);
  void fail(http::Abort why, std::string_view detail);
  void refuse(std::string_view detail);
  HeadLimits head_limits() const {
    return {limits_->max_target, limits_->max_fields, limits_->max_response_head};
  }

  net::Loop& loop_;
  const std::unique_ptr<net::Stream> stream_;
  const std::shared_ptr<const http::Limits> limits_;
  http::ClientConnectionHandler& owner_;

  http::ClientStreamHandler* request_ = nullptr;  // the exchange under way
  Input input_;
  HeadScanner head_{HeadKind::response};
  BodyReader body_in_;
  BodyWriter body_out_;

  Answer answer_ = Answer::none;
  Sending sending_ = Sending::nothing;
  http::Method method_ = http::Method::get;
  std::string_view upgrade_;                 // what the request asked for, in its arena
  http::Abort failure_ = http::Abort::none;  // to be told from the end of the turn
  uint8_t informationals_ = 0;
  bool closed_ = false;      // told, or to be told, to the owner
  bool unanswered_ = false;  // with failure_
  bool sent_ = false;        // anything_sent() when the connection ended
  bool input_ended_ = false;
  bool reusable_ = false;       // by what the answer said
  bool answered_ = false;       // a byte of an answer came
  bool available_due_ = false;  // the owner is to be told
  bool processing_ = false;
  bool paused_ = false;
  bool more_input_ = false;
  bool blocked_ = false;
  bool process_due_ = false;
  bool above_low_water_ = false;
  bool tunnel_ = false;
  bool draining_ = false;  // a tunnel that both sides have ended: its last bytes go out

  uint64_t requests_ = 0;
  uint64_t head_size_ = 0;  // of the request under way
  uint64_t unconsumed_ = 0;
  std::string_view reason_;  // of the end of the connection
  net::Timer drain_timer_;
  net::Deferred turn_end_;
};

}  // namespace pqedge::http1
