#include "wire/bytes/client.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace pqedge::bytes {
namespace {

// Below it the handler is asked for more.
constexpr size_t kLowWater = 64 * 1024;
// So that one server cannot hold the loop.
constexpr int kReadsPerTurn = 8;

class ClientConnection final : public http::ClientConnection,
                               public http::ClientStream,
                               public net::StreamHandler {
 public:
  ClientConnection(net::Loop& loop, std::unique_ptr<net::Stream> stream,
                   std::shared_ptr<const http::Limits> limits,
                   http::ClientConnectionHandler& handler);

  // http::ClientConnection
  http::ClientStream& open_stream(http::ClientStreamHandler& handler) override;
  bool available() const override { return !used_ && !closed_; }
  void close() override { shut({}); }

  // http::ClientStream
  void send_request_head(const http::Request& request, bool end) override;
  void send_request_body(Slice bytes) override;
  void send_request_end(const http::Fields* trailers) override;
  size_t request_backlog() const override { return stream_->backlog(); }
  void response_consumed(size_t n) override;
  void cancel() override;
  bool anything_sent() const override {
    return written_ > (closed_ ? unsent_ : stream_->backlog());
  }
  uint64_t earlier_requests() const override { return 0; }

  // net::StreamHandler
  void on_readable() override;
  void on_writable() override;
  void on_stream_error(const Error& error) override;

 private:
  void on_turn_end();
  void tell_head();
  void on_input_end(bool broken);
  void deliver_end();
  void release();
  void fail(std::string_view detail);
  void shut(std::string_view reason);
  size_t window() const {
    return unconsumed_ < limits_->body_window ? limits_->body_window - unconsumed_ : 0;
  }

  net::Loop& loop_;
  const std::unique_ptr<net::Stream> stream_;
  const std::shared_ptr<const http::Limits> limits_;
  http::ClientConnectionHandler& owner_;

  http::ClientStreamHandler* tunnel_ = nullptr;  // until both directions have ended
  ChunkRef buffer_;                              // while there is something to read
  bool used_ = false;                            // one tunnel, ever
  bool head_due_ = false;                        // the handler waits for its answer
  bool open_ = false;                            // it has it
  bool paused_ = false;
  bool read_due_ = false;
  bool input_ended_ = false;
  bool end_told_ = false;
  bool output_ended_ = false;
  bool above_low_water_ = false;
  bool draining_ = false;  // both directions have ended, the last bytes go out
  bool broken_ = false;    // to be told from the end of the turn
  bool closed_ = false;
  uint64_t written_ = 0;
  uint64_t unsent_ = 0;  // of it, when the connection ended
  uint64_t unconsumed_ = 0;
  std::string_view reason_;
  net::Timer drain_timer_;
  net::Deferred turn_end_;
};

ClientConnection::ClientConnection(net::Loop& loop, std::unique_ptr<net::Stream> stream,
                                   std::shared_ptr<const http::Limits> limits,
                                   http::ClientConnectionHandler& handler)
    : loop_(loop),
      stream_(std::move(stream)),
      limits_(std::move(limits)),
      owner_(handler),
      drain_timer_(
          [](void* self) {
            static_cast<ClientConnection*>(self)->shut("the server takes nothing");
          },
          this),
      turn_end_([](void* self) { static_cast<ClientConnection*>(self)->on_turn_end(); }, this) {
  stream_->set_handler(this);
}

// ---- toward the server --------------------------------------------------------------------------

http::ClientStream& ClientConnection::open_stream(http::ClientStreamHandler& handler) {
  used_ = true;
  tunnel_ = &handler;
  return *this;
}

void ClientConnection::send_request_head(const http::Request&, bool) {
  head_due_ = true;
  loop_.defer(turn_end_);
}

void ClientConnection::send_request_body(Slice bytes) {
  if (closed_ || output_ended_ || bytes.empty()) return;
  written_ += bytes.size;
  stream_->write(std::move(bytes));
  if (stream_->backlog() > kLowWater) {
    above_low_water_ = true;
    stream_->notify_below(kLowWater);
  }
}

void ClientConnection::send_request_end(const http::Fields*) {
  if (closed_ || output_ended_) return;
  output_ended_ = true;
  stream_->shutdown_write();
  if (end_told_) release();
}

void ClientConnection::on_writable() {
  if (draining_) return release();
  if (!above_low_water_ || stream_->backlog() > kLowWater) return;
  above_low_water_ = false;
  if (tunnel_ != nullptr && !closed_) tunnel_->on_request_writable();
}

// ---- from the server ----------------------------------------------------------------------------

void ClientConnection::tell_head() {
  open_ = true;
  http::Response& response = tunnel_->response();
  response.version = http::Version::http11;
  response.status = 200;
  response.tunnel = true;
  response.body = http::BodyKind::stream;
  tunnel_->on_response_head(false);
}

void ClientConnection::on_readable() {
  for (int reads = 0; !closed_ && !input_ended_; ++reads) {
    const size_t room = window();
    if (!open_ || room == 0) {
      paused_ = true;
      stream_->pause_reading();
      break;
    }
    if (reads == kReadsPerTurn) {
      read_due_ = true;
      loop_.defer(turn_end_);
      break;
    }
    if (!buffer_) buffer_ = ChunkRef::make();
    const net::IoResult got =
        stream_->read({buffer_->data(), std::min(room, size_t{Chunk::kCapacity})});
    if (got.status == net::IoStatus::would_block) break;
    if (got.status != net::IoStatus::ok) return on_input_end(got.status == net::IoStatus::error);
    unconsumed_ += got.size;
    const uint8_t* data = buffer_->data();
    tunnel_->on_response_body(Slice{std::move(buffer_), data, got.size});
  }
  buffer_ = {};
}

void ClientConnection::on_input_end(bool broken) {
  input_ended_ = true;
  buffer_ = {};
  if (broken) {
    return fail(stream_->truncated() ? "the server ended TLS without a close_notify"
                                     : "the server broke off the connection");
  }
  deliver_end();
}

void ClientConnection::deliver_end() {
  end_told_ = true;
  http::ClientStreamHandler& tunnel = *tunnel_;
  if (output_ended_) release();
  tunnel.on_response_end();
}

void ClientConnection::response_consumed(size_t n) {
  unconsumed_ -= std::min<uint64_t>(n, unconsumed_);
  if (paused_ && open_ && window() > 0) loop_.defer(turn_end_);
}

// ---- the end ------------------------------------------------------------------------------------

// What the client had sent goes out before the connection is closed, if the server takes it.
void ClientConnection::release() {
  tunnel_ = nullptr;
  draining_ = true;
  if (stream_->backlog() == 0) return shut({});
  stream_->notify_below(0);
  if (!drain_timer_.armed()) drain_timer_.arm(loop_, limits_->send_timeout);
}

void ClientConnection::cancel() {
  if (tunnel_ == nullptr) return;
  tunnel_ = nullptr;
  shut("cancelled");
  stream_->abort();
}

void ClientConnection::on_stream_error(const Error&) {
  fail("the server broke off the connection");
}

void ClientConnection::fail(std::string_view detail) {
  if (closed_) return;
  shut(detail);
  broken_ = true;
  stream_->abort();
}

void ClientConnection::shut(std::string_view reason) {
  if (closed_) return;
  unsent_ = stream_->backlog();
  closed_ = true;
  reason_ = reason;
  loop_.defer(turn_end_);
}

void ClientConnection::on_turn_end() {
  if (!closed_ && std::exchange(head_due_, false) && tunnel_ != nullptr) tell_head();
  if (closed_) {
    if (auto* tunnel = std::exchange(tunnel_, nullptr); tunnel != nullptr && broken_) {
      tunnel->on_response_reset(http::Abort::connection_lost, written_ == unsent_, reason_);
    }
    owner_.on_client_connection_closed(reason_);  // destroys this
    return;
  }
  if (std::exchange(read_due_, false)) on_readable();
  if (!closed_ && paused_ && open_ && window() > 0) {
    paused_ = false;
    stream_->resume_reading();
  }
}

}  // namespace

std::unique_ptr<http::ClientConnection> make_client(net::Loop& loop,
                                                    std::unique_ptr<net::Stream> stream,
                                                    std::shared_ptr<const http::Limits> limits,
                                                    http::ClientConnectionHandler& handler) {
  return std::make_unique<ClientConnection>(loop, std::move(stream), std::move(limits), handler);
}

}  // namespace pqedge::bytes
