#include "wire/bytes/server.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace pqedge::bytes {
namespace {

// Below it the handler is asked for more.
constexpr size_t kServerLowWater = 64 * 1024;
// So that one client cannot hold the loop.
constexpr int kServerReadsPerTurn = 8;

class ServerConnection final : public http::ServerConnection,
                               public http::ServerStream,
                               public net::StreamHandler {
 public:
  ServerConnection(net::Loop& loop, std::unique_ptr<net::Stream> stream,
                   const net::ConnectionFacts& facts, std::shared_ptr<const http::Limits> limits,
                   http::ServerConnectionHandler& handler);

  // http::ServerConnection
  void drain(Nanos) override {}  // there is nobody to be told
  void close_now() override;
  size_t active_streams() const override { return tunnel_ != nullptr ? 1 : 0; }

  // http::ServerStream
  void send_informational(const http::Response&) override {}
  void send_head(const http::Response& response, bool end) override;
  void send_body(Slice bytes) override;
  void send_end(const http::Fields* trailers) override;
  size_t backlog() const override { return stream_->backlog(); }
  void consumed(size_t n) override;
  void ignore_request_body() override {}
  void reset(http::Abort why) override;
  void close_after() override {}
  const net::ConnectionFacts& facts() const override { return facts_; }
  uint64_t stream_id() const override { return 0; }
  uint64_t bytes_in() const override { return received_; }
  uint64_t bytes_out() const override { return sent_; }

  // net::StreamHandler
  void on_readable() override;
  void on_writable() override;
  void on_stream_error(const Error& error) override;

 private:
  enum class State : uint8_t {
    asking,  // the tunnel is not there yet
    open,
    refused,  // there will be none
    closed
  };

  void on_turn_end();
  void begin();
  void finish_if_done();
  void fail(http::Abort why, std::string_view reason);
  size_t window() const {
    return unconsumed_ < limits_->body_window ? limits_->body_window - unconsumed_ : 0;
  }

  net::Loop& loop_;
  const std::unique_ptr<net::Stream> stream_;
  const net::ConnectionFacts& facts_;
  const std::shared_ptr<const http::Limits> limits_;
  http::ServerConnectionHandler& owner_;

  http::ServerStreamHandler* tunnel_ = nullptr;  // until it was told the end
  State state_ = State::asking;
  ChunkRef buffer_;  // while there is something to read
  bool begun_ = false;
  bool paused_ = false;
  bool read_due_ = false;
  bool input_ended_ = false;
  bool output_ended_ = false;
  bool above_low_water_ = false;
  http::Abort failure_ = http::Abort::none;
  uint64_t received_ = 0;
  uint64_t sent_ = 0;
  uint64_t unconsumed_ = 0;
  std::string_view reason_;
  net::Deferred turn_end_;
};

ServerConnection::ServerConnection(net::Loop& loop, std::unique_ptr<net::Stream> stream,
                                   const net::ConnectionFacts& facts,
                                   std::shared_ptr<const http::Limits> limits,
                                   http::ServerConnectionHandler& handler)
    : loop_(loop),
      stream_(std::move(stream)),
      facts_(facts),
      limits_(std::move(limits)),
      owner_(handler),
      turn_end_([](void* self) { static_cast<ServerConnection*>(self)->on_turn_end(); }, this) {
  stream_->set_handler(this);
  stream_->pause_reading();
  paused_ = true;
  loop_.defer(turn_end_);
}

void ServerConnection::begin() {
  begun_ = true;
  tunnel_ = &owner_.on_stream(*this);
  http::Request& request = tunnel_->request();
  request.method = http::Method::connect;
  request.method_text = "CONNECT";
  request.scheme = facts_.secure() ? "https" : "http";
  request.host = facts_.sni;  // for the policy of TLS
  request.body = http::BodyKind::stream;
  tunnel_->on_head(false);
}

// ---- from the client ----------------------------------------------------------------------------

void ServerConnection::on_readable() {
  for (int reads = 0; state_ == State::open && !input_ended_; ++reads) {
    const size_t room = window();
    if (room == 0) {
      paused_ = true;
      stream_->pause_reading();
      break;
    }
    if (reads == kServerReadsPerTurn) {
      read_due_ = true;
      loop_.defer(turn_end_);
      break;
    }
    if (!buffer_) buffer_ = ChunkRef::make();
    const net::IoResult got =
        stream_->read({buffer_->data(), std::min(room, size_t{Chunk::kCapacity})});
    if (got.status == net::IoStatus::would_block) break;
    if (got.status == net::IoStatus::error) {
      fail(stream_->truncated() ? http::Abort::cancelled : http::Abort::connection_lost,
           "connection lost");
      break;
    }
    if (got.status == net::IoStatus::end_of_stream) {
      input_ended_ = true;
      tunnel_->on_end();
      finish_if_done();
      break;
    }
    unconsumed_ += got.size;
    received_ += got.size;
    const uint8_t* data = buffer_->data();
    tunnel_->on_body(Slice{std::move(buffer_), data, got.size});
  }
  buffer_ = {};
}

void ServerConnection::consumed(size_t n) {
  unconsumed_ -= std::min<uint64_t>(n, unconsumed_);
  if (paused_ && state_ == State::open && window() > 0) loop_.defer(turn_end_);
}

// ---- to the client ------------------------------------------------------------------------------

void ServerConnection::send_head(const http::Response& response, bool end) {
  if (state_ != State::asking) return;
  state_ = response.tunnel ? State::open : State::refused;
  loop_.defer(turn_end_);
  if (end) send_end(nullptr);
}

void ServerConnection::send_body(Slice bytes) {
  if (state_ != State::open || output_ended_ || bytes.empty()) return;
  sent_ += bytes.size;
  stream_->write(std::move(bytes));
  if (stream_->backlog() > kServerLowWater) {
    above_low_water_ = true;
    stream_->notify_below(kServerLowWater);
  }
}

void ServerConnection::send_end(const http::Fields*) {
  if (state_ == State::closed || output_ended_) return;
  output_ended_ = true;
  stream_->shutdown_write();
  loop_.defer(turn_end_);
}

void ServerConnection::on_writable() {
  if (above_low_water_ && stream_->backlog() <= kServerLowWater) {
    above_low_water_ = false;
    if (tunnel_ != nullptr && state_ == State::open && !output_ended_) tunnel_->on_writable();
  }
  finish_if_done();
}

// ---- the end ------------------------------------------------------------------------------------

void ServerConnection::finish_if_done() {
  if (state_ == State::closed || !output_ended_) return;
  if (state_ == State::open && !input_ended_) return;
  if (stream_->backlog() > 0) return stream_->notify_below(0);
  state_ = State::closed;
  loop_.defer(turn_end_);
}

void ServerConnection::fail(http::Abort why, std::string_view reason) {
  if (state_ == State::closed) return;
  state_ = State::closed;
  failure_ = why;
  reason_ = reason;
  stream_->abort();
  loop_.defer(turn_end_);
}

void ServerConnection::reset(http::Abort why) {
  tunnel_ = nullptr;
  fail(why, http::abort_name(why));
}

void ServerConnection::close_now() {
  if (state_ == State::closed) return;
  fail(http::Abort::connection_lost, "closed by us");
  if (auto* tunnel = std::exchange(tunnel_, nullptr); tunnel != nullptr) {
    tunnel->on_reset(http::Abort::connection_lost);
  }
}

void ServerConnection::on_stream_error(const Error&) {
  fail(http::Abort::connection_lost, "connection lost");
}

void ServerConnection::on_turn_end() {
  if (!begun_ && state_ != State::closed) begin();
  if (state_ != State::closed) finish_if_done();
  if (state_ == State::closed) {
    if (failure_ == http::Abort::none) stream_->flush();  // what ends our direction
    if (auto* tunnel = std::exchange(tunnel_, nullptr); tunnel != nullptr) {
      if (failure_ == http::Abort::none) {
        tunnel->on_finished();
      } else {
        tunnel->on_reset(failure_);
      }
    }
    owner_.on_closed(reason_);  // destroys this
    return;
  }
  if (std::exchange(read_due_, false)) on_readable();
  if (paused_ && state_ == State::open && window() > 0) {
    paused_ = false;
    stream_->resume_reading();
  }
}

}  // namespace

std::unique_ptr<http::ServerConnection> make_server(net::Loop& loop,
                                                    std::unique_ptr<net::Stream> stream,
                                                    const net::ConnectionFacts& facts,
                                                    std::shared_ptr<const http::Limits> limits,
                                                    http::ServerConnectionHandler& handler) {
  return std::make_unique<ServerConnection>(loop, std::move(stream), facts, std::move(limits),
                                            handler);
}

}  // namespace pqedge::bytes
