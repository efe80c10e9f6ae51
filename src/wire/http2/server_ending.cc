// How a connection ends: drained, failed, closed.
#include <algorithm>
#include <array>
#include <cstring>

#include "wire/http2/counters.h"
#include "wire/http2/server_connection.h"

namespace pqedge::http2 {

// ---- in good order

// RFC 9113 6.8: first a GOAWAY with the highest identifier, so that requests under way are taken;
// then, a round trip later, the one that counts.
void Connection::drain(Nanos /*linger*/) { begin_drain({}); }

void Connection::begin_drain(std::string_view reason) {
  if (state_ != State::open) return;
  state_ = State::notified;
  end_reason_ = reason;
  nghttp2_submit_shutdown_notice(session_);
  state_until_ = loop_.now() + kDrainGrace;
  schedule_pump();
  watch();
}

// The PING is queued only now: nghttp2 would let it overtake the notice.
void Connection::on_goaway_sent() {
  if (state_ != State::notified || ping_out_) return;
  ping_out_ = nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, nullptr) == 0;
}

void Connection::finish_drain() {
  if (state_ != State::notified) return;
  state_ = State::draining;
  state_until_ = kNever;
  nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE,
                        nghttp2_session_get_last_proc_stream_id(session_), NGHTTP2_NO_ERROR,
                        nullptr, 0);
  schedule_pump();
}

// GOAWAY has been given to the transport and nothing runs any more, or may run.
void Connection::end_in_order(std::string_view reason) {
  reset_all(http::Abort::protocol_error);
  linger(reason, limits_->linger_timeout);
}

// ---- by failure

bool Connection::settle_failure() {
  if (close_asked_ && state_ < State::closed) {
    reset_all(http::Abort::connection_lost);
    finish({});
  } else if (!failure_.reason.empty() && state_ < State::lingering) {
    fail(failure_);
  }
  return state_ < State::lingering;
}

// What nghttp2 still has to send is dropped: the peer does not deserve it, or nghttp2 is broken.
void Connection::fail(Failure failure) {
  if (state_ >= State::lingering) return;
  connection_errors(failure.code).add();
  put_goaway(failure.code, failure.reason);
  stream_->flush();
  reset_all(failure.why);
  const bool flood = failure.why == http::Abort::flood;
  linger(failure.reason,
         flood ? std::min(kFloodLinger, limits_->linger_timeout) : limits_->linger_timeout);
}

void Connection::put_goaway(ErrorCode code, std::string_view reason) {
  std::array<uint8_t, kFrameHeaderSize + 8 + 64> frame;
  reason = reason.substr(0, 64);
  FrameHeader{.length = static_cast<uint32_t>(8 + reason.size()), .type = FrameType::goaway}.store(
      frame.data());
  uint8_t* payload = frame.data() + kFrameHeaderSize;
  store_be32(payload, static_cast<uint32_t>(nghttp2_session_get_last_proc_stream_id(session_)));
  store_be32(payload + 4, static_cast<uint32_t>(code));
  std::memcpy(payload + 8, reason.data(), reason.size());
  put({frame.data(), kFrameHeaderSize + 8 + reason.size()});
}

// ---- both

// Our direction ends, and what the client still sends is read and dropped for a while: a socket
// closed with bytes unread resets the connection, and the client may lose our last frames (as in
// RFC 9112 9.6).
void Connection::linger(std::string_view reason, Nanos how_long) {
  end_reason_ = reason;
  stream_->shutdown_write();
  if (peer_ended_ || how_long == 0) return finish(reason);
  transport_progress_ = loop_.now();
  state_ = State::lingering;
  state_until_ = loop_.now() + how_long;
  watch();
}

void Connection::finish(std::string_view reason) {
  if (state_ == State::closed) return;
  state_ = State::closed;
  end_reason_ = reason;
  timer_.disarm();
  read_again_.disarm();
  loop_.defer(closed_work_);
}

void Connection::close_now() {
  close_asked_ = true;
  schedule_pump();  // the caller may be one of the handlers that are told now
}

void Connection::reset_all(http::Abort why) {
  while (!open_.empty()) {
    ServerStream& s = open_.pop_front();
    s.tell_reset(why);
    release(s);
  }
}

}  // namespace pqedge::http2
