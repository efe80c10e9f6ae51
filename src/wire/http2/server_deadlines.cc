// Deadlines of a connection and its streams. One timer a connection, looked at every tick while
// something runs: streams come and go without touching the loop's heap.
#include <algorithm>

#include "wire/http2/counters.h"
#include "wire/http2/server_connection.h"

namespace pqedge::http2 {

// Makes sure that the timer fires within a tick, or at the idle deadline if that is all there is.
void Connection::watch() {
  const Nanos now = loop_.now();
  const bool busy = open_count_ > 0 || scanner_.head_began() != kNever || stream_->backlog() > 0;
  Nanos next = busy ? now + tick_ : idle_since_ + limits_->idle_timeout;
  next = std::min(next, state_until_);
  if (!timer_.armed() || timer_.deadline() > next) timer_.arm_at(loop_, std::max(next, now + 1));
}

void Connection::on_timer() {
  const Nanos now = loop_.now();
  if (state_ == State::closed) return;
  if (now >= state_until_) {
    state_until_ = kNever;
    if (state_ == State::lingering) return finish(end_reason_);
    finish_drain();
  }
  if (!check_transport(now)) return;
  if (state_ < State::lingering) {
    if (!check_head(now)) return;
    check_streams(now);
    if (!check_idle(now)) return;
  }
  if (state_ != State::closed) watch();
}

// A field section blocks the whole connection until it ends (RFC 9113 4.3).
bool Connection::check_head(Nanos now) {
  const Nanos began = scanner_.head_began();
  if (began == kNever || now - began < limits_->header_timeout) return true;
  kHeaderTimeouts.add();
  fail({ErrorCode::no_error, http::Abort::timed_out, "header timeout"});
  return false;
}

// The transport takes nothing: the client does not read, or is gone.
bool Connection::check_transport(Nanos now) {
  const size_t backlog = stream_->backlog();
  const uint64_t took = written_ > backlog ? written_ - backlog : 0;
  if (backlog == 0 || took != transport_took_) {
    transport_took_ = took;
    transport_progress_ = now;
    return true;
  }
  if (now - transport_progress_ < limits_->send_timeout) return true;
  kStalledConnections.add();
  stream_->abort();
  reset_all(http::Abort::timed_out);
  finish("client does not read");
  return false;
}

// Bytes that wait for flow control hold memory here and in the backend: who gives no credit is cut
// off. A stream that waits for others to be sent first has credit.
void Connection::check_streams(Nanos now) {
  const bool closed_window = nghttp2_session_get_remote_window_size(session_) <= 0;
  open_.for_each([&](ServerStream& s) {
    if (!s.has_handler()) return;
    if (s.awaits_body()) check_body(s, now);
    if (!s.has_queued() || now - s.send_progress() < limits_->send_timeout) return;
    if (closed_window || nghttp2_session_get_stream_remote_window_size(session_, s.id()) <= 0) {
      kStalledStreams.add();
      s.reap();
    }
  });
}

void Connection::check_body(ServerStream& s, Nanos now) {
  // Without credit it is not the client that keeps us waiting.
  if (nghttp2_session_get_local_window_size(session_) <= 0 ||
      nghttp2_session_get_stream_local_window_size(session_, s.id()) <= 0) {
    return s.touch_body(now);
  }
  if (now - s.body_progress() < limits_->body_timeout) return;
  kBodyTimeouts.add();
  s.refuse(408, "request body timeout");
}

bool Connection::check_idle(Nanos now) {
  if (open_count_ > 0 || now - idle_since_ < limits_->idle_timeout) return true;
  // A request under way is above the last stream of the GOAWAY: safe to send again.
  put_goaway(ErrorCode::no_error, "idle");
  stream_->flush();
  linger({}, limits_->linger_timeout);
  return false;
}

}  // namespace pqedge::http2
