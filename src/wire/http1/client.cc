// Requests written, and the connection around them.
#include "wire/http1/client.h"

#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "wire/http1/client_connection.h"
#include "wire/http1/counters.h"

namespace pqedge::http1 {
namespace {

// Below it the handler is asked for more.
constexpr size_t kLowWater = 64 * 1024;

// RFC 9110 8.6: a method that gives content a meaning says that there is none; others say nothing.
bool expects_content(http::Method method) {
  return method == http::Method::post || method == http::Method::put ||
         method == http::Method::patch;
}

Framing plan_framing(const http::Request& request, bool end) {
  Framing framing;
  if (request.body == http::BodyKind::stream && !end) {
    framing.coding = Coding::chunked;
  } else if (request.body == http::BodyKind::length && request.content_length > 0) {
    framing.coding = Coding::length;
    framing.has_length = true;
    framing.length = request.content_length;
  } else {
    framing.has_length = expects_content(request.method);
  }
  return framing;
}

}  // namespace

ClientConnection::ClientConnection(net::Loop& loop, std::unique_ptr<net::Stream> stream,
                                   std::shared_ptr<const http::Limits> limits,
                                   http::ClientConnectionHandler& handler)
    : loop_(loop),
      stream_(std::move(stream)),
      limits_(std::move(limits)),
      owner_(handler),
      drain_timer_(
          [](void* self) {
            static_cast<ClientConnection*>(self)->shut("the backend takes nothing");
          },
          this),
      turn_end_([](void* self) { static_cast<ClientConnection*>(self)->on_turn_end(); }, this) {
  stream_->set_handler(this);
}

// ---- the request --------------------------------------------------------------------------------
http::ClientStream& ClientConnection::open_stream(http::ClientStreamHandler& handler) {
  ++requests_;
  request_ = &handler;
  answer_ = Answer::head;
  sending_ = Sending::head_due;
  head_.reset();
  body_out_.begin(Coding::none, 0);
  head_size_ = unconsumed_ = 0;
  informationals_ = 0;
  answered_ = reusable_ = blocked_ = above_low_water_ = available_due_ = false;
  return *this;
}

void ClientConnection::send_request_head(const http::Request& request, bool end) {
  if (closed_ || sending_ != Sending::head_due) return;
  const Framing framing = plan_framing(request, end);
  const Bytes head = write_request_head(request, framing);
  if (head.empty()) return fail(http::Abort::internal_error, "control byte in a request head");
  method_ = request.method;
  upgrade_ = request.upgrade;
  head_size_ = head.size();
  stream_->write_copy(head);
  body_out_.begin(framing.coding, framing.length);
  sending_ = Sending::body_due;
  if (end) send_request_end(nullptr);
}

void ClientConnection::send_request_body(Slice bytes) {
  if (closed_ || sending_ != Sending::body_due) return;
  if (!body_out_.write(*stream_, std::move(bytes))) {
    return fail(http::Abort::internal_error, "request body longer than its Content-Length");
  }
  if (stream_->backlog() > kLowWater) {
    above_low_water_ = true;
    stream_->notify_below(kLowWater);
  }
}

void ClientConnection::send_request_end(const http::Fields* trailers) {
  if (closed_ || sending_ != Sending::body_due) return;
  if (!body_out_.end(*stream_, trailers)) {
    return fail(http::Abort::internal_error, "request body shorter than its Content-Length");
  }
  sending_ = Sending::whole;
  if (tunnel_) stream_->shutdown_write();
  if (answer_ == Answer::whole) release_stream();
}

bool ClientConnection::anything_sent() const {
  if (closed_) return sent_;
  // What waits is the end of what was written.
  return head_size_ + body_out_.written() > stream_->backlog();
}

void ClientConnection::on_writable() {
  if (draining_) return release_tunnel();
  if (!above_low_water_ || stream_->backlog() > kLowWater) return;
  above_low_water_ = false;
  if (request_ != nullptr && !closed_) request_->on_request_writable();
}

// ---- the end of a request -----------------------------------------------------------------------
// Both directions are whole: the handler was, or is about to be, called for the last time.
void ClientConnection::release_stream() {
  request_ = nullptr;
  if (tunnel_) return release_tunnel();
  answer_ = Answer::none;
  sending_ = Sending::nothing;
  if (!input_.empty()) {
    counters::stray_responses.add();
    shut("the backend sent more than its answer");
  } else if (!reusable_ || input_ended_) {
    stream_->shutdown_write();
    shut({});
  } else {
    available_due_ = true;
    schedule();
  }
}

// What the client had sent goes out before the connection is closed, if the backend takes it.
void ClientConnection::release_tunnel() {
  draining_ = true;
  if (stream_->backlog() == 0) return shut({});
  stream_->notify_below(0);
  if (!drain_timer_.armed()) drain_timer_.arm(loop_, limits_->send_timeout);
}

void ClientConnection::cancel() {
  if (request_ == nullptr) return;
  request_ = nullptr;
  if (closed_) return;
  shut("cancelled");
  stream_->abort();
}

// Whatever comes on an unused connection, even a TLS record, is to be read before it is used.
bool ClientConnection::quiet() const {
  char byte;
  return ::recv(stream_->fd(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
         (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
}

void ClientConnection::close() {
  if (closed_) return;
  stream_->shutdown_write();
  shut({});
}

// ---- the end of the connection ------------------------------------------------------------------
void ClientConnection::shut(std::string_view reason) {
  if (closed_) return;
  sent_ = anything_sent();
  closed_ = true;
  reason_ = reason;
  input_.clear();
  schedule();
}

void ClientConnection::fail(http::Abort why, std::string_view detail) {
  if (closed_) return;
  shut(request_ == nullptr ? std::string_view{} : detail);
  failure_ = why;
  // A kept connection that died before a byte of an answer, or one that took no byte of the
  // request: nothing was processed that an idempotent request could not repeat (RFC 9112 9.3.1).
  unanswered_ = why == http::Abort::connection_lost && !answered_ && (requests_ > 1 || !sent_);
  stream_->abort();
}

void ClientConnection::on_stream_error(const Error&) {
  fail(http::Abort::connection_lost,
       answered_ ? "connection to the backend lost" : "connection lost before an answer came");
}

void ClientConnection::on_turn_end() {
  if (closed_) {
    if (auto* request = std::exchange(request_, nullptr); request != nullptr) {
      request->on_response_reset(failure_, unanswered_, reason_);
    }
    owner_.on_client_connection_closed(reason_);  // destroys this
    return;
  }
  if (std::exchange(process_due_, false)) {
    blocked_ = false;
    process();
  }
  if (std::exchange(more_input_, false)) on_readable();
  if (closed_) return;  // and scheduled again
  if (paused_ && wants_input()) {
    paused_ = false;
    stream_->resume_reading();
  }
  if (std::exchange(available_due_, false) && available()) owner_.on_available();
}

std::unique_ptr<http::ClientConnection> make_client(net::Loop& loop,
                                                    std::unique_ptr<net::Stream> stream,
                                                    std::shared_ptr<const http::Limits> limits,
                                                    http::ClientConnectionHandler& handler) {
  return std::make_unique<ClientConnection>(loop, std::move(stream), std::move(limits), handler);
}

}  // namespace pqedge::http1
