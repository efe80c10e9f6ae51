// The connection around the requests: its phases, clocks and end.
#include "wire/http1/server.h"

#include <utility>

#include "wire/http1/counters.h"
#include "wire/http1/server_connection.h"

namespace pqedge::http1 {

ServerConnection::ServerConnection(net::Loop& loop, std::unique_ptr<net::Stream> stream,
                                   const net::ConnectionFacts& facts,
                                   std::shared_ptr<const http::Limits> limits,
                                   http::ServerConnectionHandler& handler)
    : loop_(loop),
      stream_(std::move(stream)),
      facts_(facts),
      limits_(std::move(limits)),
      owner_(handler),
      clock_([](void* self) { static_cast<ServerConnection*>(self)->on_clock(); }, this),
      send_clock_([](void* self) { static_cast<ServerConnection*>(self)->on_send_clock(); }, this),
      turn_end_([](void* self) { static_cast<ServerConnection*>(self)->on_turn_end(); }, this) {
  stream_->set_handler(this);
  set_clock(Clock::idle, limits_->idle_timeout);
}

// ---- the end of a turn --------------------------------------------------------------------------
void ServerConnection::on_turn_end() {
  if (phase_ == Phase::closed) {
    if (auto* request = std::exchange(request_, nullptr); request != nullptr) {
      request->on_reset(failure_);
    }
    owner_.on_closed(close_reason_);  // destroys this
    return;
  }
  if (std::exchange(process_due_, false)) {
    blocked_ = false;
    process();
  }
  if (std::exchange(more_input_, false)) on_readable();
  settle();
}

// Brings the connection to where its halves allow: the request finished, the next one begun, the
// connection closed, reading resumed.
void ServerConnection::settle() {
  const size_t waiting = stream_->backlog();
  if (waiting > 0 && phase_ != Phase::closed) {
    if (answer_ == Answer::sent || phase_ == Phase::lingering) stream_->notify_below(0);
    if (!send_clock_.armed()) {
      unsent_seen_ = waiting;
      written_seen_ = bytes_out();
      send_clock_.arm(loop_, limits_->send_timeout);
    }
  } else if (phase_ == Phase::lingering) {
    if (input_ended_) close({});
  } else if (answer_ == Answer::sent && request_ != nullptr) {
    const bool read = phase_ == Phase::complete || phase_ == Phase::refused;
    if (read || (phase_ == Phase::dropping && !keep_alive_)) finish_request();
  }
  if (paused_ && phase_ != Phase::closed && wants_input()) {
    paused_ = false;
    stream_->resume_reading();
  }
}

void ServerConnection::finish_request() {
  const bool again = phase_ == Phase::complete && keep_alive_;
  http::ServerStreamHandler& request = *std::exchange(request_, nullptr);
  message_ = nullptr;
  answer_ = Answer::none;
  if (send_clock_.armed()) send_clock_.disarm();
  if (again) {
    become_idle();
  } else {
    linger();
  }
  request.on_finished();
  if (phase_ == Phase::idle) process();  // what the client sent meanwhile (RFC 9112 9.3.2)
  if (phase_ == Phase::idle || phase_ == Phase::head) {
    if (input_ended_) {
      close({});
    } else {
      input_.release();
    }
  }
}

void ServerConnection::become_idle() {
  phase_ = Phase::idle;
  head_.reset();
  blank_line_ = start_line_good_ = false;
  if (draining_) {
    set_clock(Clock::idle, drain_linger_);
  } else {
    set_clock(Clock::idle, limits_->idle_timeout);
  }
}

// ---- closing ------------------------------------------------------------------------------------
// RFC 9112 9.6: a close with bytes unread would reset the connection and could take the answer from
// under the client. Our direction is closed, the other read and dropped until its end.
void ServerConnection::linger() {
  phase_ = Phase::lingering;
  input_.clear();
  stream_->shutdown_write();
  set_clock(Clock::linger, limits_->linger_timeout);
  if (!input_ended_) counters::lingering_closes.add();
  schedule();
}

void ServerConnection::close(std::string_view reason) {
  if (phase_ == Phase::closed) return;
  phase_ = Phase::closed;
  failure_ = http::Abort::connection_lost;
  close_reason_ = reason;
  input_.clear();
  schedule();
}

void ServerConnection::fail(http::Abort why, std::string_view reason) {
  if (phase_ == Phase::closed) return;
  close(reason);
  failure_ = why;
  stream_->abort();
}

void ServerConnection::drain(Nanos linger) {
  if (phase_ == Phase::closed || draining_) return;
  draining_ = true;
  drain_linger_ = linger;
  if (phase_ == Phase::idle) set_clock(Clock::idle, linger);
}

void ServerConnection::close_now() {
  if (phase_ == Phase::closed) return;
  fail(http::Abort::connection_lost, "closed by us");
  if (auto* request = std::exchange(request_, nullptr); request != nullptr) {
    request->on_reset(http::Abort::connection_lost);
  }
}

void ServerConnection::on_stream_error(const Error&) { on_input_error("connection lost"); }

// ---- clocks -------------------------------------------------------------------------------------
// The timer stays armed where nothing is due (Clock::none): it fires for nothing, which is rarer
// than the requests that would disarm it.
void ServerConnection::set_clock(Clock clock, Nanos after) {
  clock_kind_ = clock;
  if (clock != Clock::none) clock_.arm(loop_, after);
}

void ServerConnection::on_clock() {
  switch (std::exchange(clock_kind_, Clock::none)) {
    case Clock::none: return;
    case Clock::idle:
      stream_->shutdown_write();
      close({});
      return;
    case Clock::head: refuse_head(408, "the request head took too long"); break;
    case Clock::body:
      if (phase_ == Phase::body) {
        refuse(408, "the request body took too long");
      } else {
        keep_alive_ = false;
        phase_ = Phase::refused;
      }
      break;
    case Clock::linger:
      counters::linger_overruns.add();
      close({});
      return;
  }
  schedule();
}

void ServerConnection::on_send_clock() {
  const size_t waiting = stream_->backlog();
  if (waiting == 0 || phase_ == Phase::closed) return;
  // Taken since the clock was set: what waited then and was written since, less what waits now.
  if (unsent_seen_ + (bytes_out() - written_seen_) > waiting) {
    unsent_seen_ = waiting;
    written_seen_ = bytes_out();
    send_clock_.arm(loop_, limits_->send_timeout);
    return;
  }
  counters::send_timeouts.add();
  fail(http::Abort::timed_out, "the client takes nothing");
}

std::unique_ptr<http::ServerConnection> make_server(net::Loop& loop,
                                                    std::unique_ptr<net::Stream> stream,
                                                    const net::ConnectionFacts& facts,
                                                    std::shared_ptr<const http::Limits> limits,
                                                    http::ServerConnectionHandler& handler) {
  return std::make_unique<ServerConnection>(loop, std::move(stream), facts, std::move(limits),
                                            handler);
}

}  // namespace pqedge::http1
