// Between the stream and the exchange: what came, told in order, and how it ends.
#include "wire/http3/request_stream.h"

#include <algorithm>
#include <utility>

#include "wire/http3/connection.h"

namespace pqedge::http3 {

RequestStream::RequestStream(Connection& connection)
    : c_(connection), received_at_(c_.now()), section_began_at_(c_.now()) {}

const net::ConnectionFacts& RequestStream::facts() const { return c_.facts(); }

void RequestStream::mark_ready() { c_.ready(*this); }

// For calls of the exchange, which may come from within one of ours.
void RequestStream::deliver_later() {
  mark_ready();
  if (!c_.closing()) c_.quic().wake();
}

// Each call may make the exchange end the stream: then handler_ is null and nothing more is told.
void RequestStream::deliver() {
  if (closed_ && !end_sent() && !malformed_ && abort_ == http::Abort::none) {
    abort_ = http::Abort::cancelled;
  }
  if (handler_ != nullptr && abort_ != http::Abort::none) gone(abort_);
  if (handler_ != nullptr && bad_status_ != 0 && !bad_told_) {
    bad_told_ = end_told_ = true;
    handler_->on_bad_request(bad_status_, bad_reason_);
  } else if (handler_ != nullptr && bad_status_ == 0 && head_ready_) {
    if (!head_told_) {
      head_told_ = true;
      const bool end = complete_ && body_.empty() && handler_->request().trailers.empty();
      if (end) {
        end_told_ = true;
        http::Request& request = handler_->request();
        if (request.body == http::BodyKind::stream) request.body = http::BodyKind::none;
      }
      if (!complete_ && !tunnel_) c_.watch(c_.now() + c_.limits().body_timeout);
      handler_->on_head(end);
    }
    deliver_body();
    if (handler_ != nullptr && complete_ && body_.empty() && !end_told_) {
      end_told_ = true;
      handler_->on_end();
    }
  }
  finish_if_done();
  // QUIC may have forgotten the stream while the exchange has not taken all of the body yet.
  if (closed_ && handler_ == nullptr) c_.request_closed(*this);
}

// At most body_window bytes may be under way to the exchange; the rest waits here, within the
// window that QUIC has granted.
void RequestStream::deliver_body() {
  const size_t window = c_.limits().body_window;
  while (handler_ != nullptr && head_told_ && !discarding_ && !body_.empty() &&
         unconsumed_ < window) {
    const size_t n = std::min(body_.front().size, window - unconsumed_);
    Slice s = body_.front();
    s.size = n;
    body_.consume(n);
    unconsumed_ += n;
    handler_->on_body(std::move(s));
  }
}

void RequestStream::consumed(size_t n) {
  n = std::min(n, unconsumed_);
  unconsumed_ -= n;
  if (c_.closing()) return;
  received_at_ = c_.now();  // it may have been waiting for this
  c_.quic().consumed(*this, n);
  if (!body_.empty()) deliver_later();
}

void RequestStream::ignore_request_body() {
  discard_input();
  if (end_told_) return;
  end_told_ = true;
  deliver_later();
}

// The exchange hears of it and is let go.
void RequestStream::gone(http::Abort why) {
  http::ServerStreamHandler* handler = std::exchange(handler_, nullptr);
  discard_input();
  if (!c_.closing()) {
    c_.quic().consumed(*this, std::exchange(unconsumed_, 0));
    if (!closed_) {
      c_.quic().reset_write(*this, static_cast<uint64_t>(ErrorCode::request_cancelled));
      stop_input(ErrorCode::request_cancelled);
    }
  }
  if (handler != nullptr) handler->on_reset(why);
}

void RequestStream::finish_if_done() {
  if (!response_ended_ || !(end_sent() || malformed_)) return;
  // Also where an answer says what is wrong, it is an error of the stream (RFC 9114 4.1.2).
  if (bad_status_ == 400 && !c_.closing()) {
    c_.quic().reset_write(*this, static_cast<uint64_t>(ErrorCode::message_error));
  }
  // The answer is out; what still comes of the request is of no use (RFC 9114 4.1).
  if (discarding_ && !input_ended_) {
    stop_input(bad_status_ == 400 ? ErrorCode::message_error : ErrorCode::no_error);
  }
  if (handler_ == nullptr || !end_told_) return;
  if (!c_.closing()) c_.quic().consumed(*this, std::exchange(unconsumed_, 0));
  std::exchange(handler_, nullptr)->on_finished();
}

void RequestStream::connection_lost() {
  if (handler_ != nullptr) gone(http::Abort::connection_lost);
}

// ---- from QUIC ----------------------------------------------------------------------------------

void RequestStream::on_stream_closed(std::optional<uint64_t> code) {
  closed_ = true;
  // STOP_SENDING after a whole request ends here: ngtcp2 has answered it with a reset.
  if (code && handler_ != nullptr && !end_sent() && !malformed_ && abort_ == http::Abort::none) {
    c_.charge(Nuisance::request_cancelled);
  }
  if (handler_ == nullptr) {
    c_.request_closed(*this);
  } else {
    mark_ready();
  }
}

void RequestStream::on_send_progress() {
  finish_if_done();
  if (handler_ != nullptr && !response_ended_) handler_->on_writable();
}

// ---- time ---------------------------------------------------------------------------------------

// A stream that other streams go before is not held up by its client as long as those move.
Nanos RequestStream::send_waits_since() const {
  if (closed_ || queue().empty() || c_.closing()) return kNever;
  return blocked_by_window() ? send_progress_at()
                             : std::max(send_progress_at(), c_.quic().send_progress_at());
}

Nanos RequestStream::deadline() const {
  const http::Limits& limits = c_.limits();
  const Nanos waits_since = send_waits_since();
  const Nanos when = waits_since == kNever ? kNever : waits_since + limits.send_timeout;
  if (input_ended_ || discarding_) return when;
  if (phase_ == Phase::head || section_) {
    return std::min(when, section_began_at_ + limits.header_timeout);
  }
  if (tunnel_) return when;  // it may be silent
  // A client that may not send, since the exchange has not taken what came, is not late.
  const bool may_send = body_.empty() && unconsumed_ < limits.body_window;
  return may_send ? std::min(when, received_at_ + limits.body_timeout) : when;
}

void RequestStream::expire(Nanos now) {
  if (deadline() > now) return;
  const http::Limits& limits = c_.limits();
  const Nanos waits_since = send_waits_since();
  if (waits_since != kNever && waits_since + limits.send_timeout <= now) {
    c_.charge(Nuisance::stalled_stream);
    if (!blocked_by_window()) {
      c_.fail(ErrorCode::excessive_load, "the client takes nothing");
    } else if (handler_ != nullptr) {
      gone(http::Abort::timed_out);
    } else {
      c_.quic().reset_write(*this, static_cast<uint64_t>(ErrorCode::request_cancelled));
    }
    return;
  }
  if (handler_ != nullptr && !response_begun_) {
    refuse(408, head_told_ ? "request body took too long" : "request head took too long");
  } else if (handler_ != nullptr) {
    gone(http::Abort::timed_out);
  } else {
    discard_input();
    c_.quic().reset_write(*this, static_cast<uint64_t>(ErrorCode::request_cancelled));
    stop_input(ErrorCode::request_cancelled);
  }
}

}  // namespace pqedge::http3
