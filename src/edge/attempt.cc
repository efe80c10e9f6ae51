#include "edge/attempt.h"

#include <algorithm>

#include "edge/retry.h"

namespace pqedge::edge {

Attempt::Attempt(AttemptOwner& owner, Arena& arena)
    : owner_(owner),
      arena_(arena),
      lease_(*this),
      limit_timer_([](void* self) { static_cast<Attempt*>(self)->on_limit(); }, this) {}

void Attempt::begin(net::Loop& loop, upstream::Pool& pool, const upstream::Choice& choice,
                    bool fresh, Nanos limit) {
  response_.emplace(arena_);
  stream_ = nullptr;
  running_ = true;
  limit_ = limit;
  loop_ = &loop;
  first_byte_ = 0;
  if (limit != 0) limit_timer_.arm(loop, limit);
  pool.acquire(loop, lease_, *this, choice, fresh);
}

// Several requests may wait for one connection, each as long as its route says.
void Attempt::on_limit() {
  if (!running_ || stream_ != nullptr) return;
  if (lease_.waiting()) {  // in the pool's queue, which has a deadline of its own
    limit_timer_.arm(*loop_, limit_);
    return;
  }
  lease_.abandon();
  on_backend_failed(upstream::Failure::connect_timeout, "no connection within connect_timeout");
}

// What the server's health is judged by. It was there: a lease without a connection is none.
void Attempt::report(upstream::Outcome::Kind kind) {
  if (lease_.server_ref() == nullptr) return;
  lease_.server_ref()->report({.kind = kind,
                               .status = first_byte_ == 0 ? uint16_t{0} : response_->status,
                               .first_byte = first_byte_},
                              lease_.ticket(), loop_->now());
}

void Attempt::finish(bool in_step) {
  report(upstream::Outcome::Kind::answered);
  stream_ = nullptr;
  running_ = false;
  if (in_step) {
    lease_.finish();
  } else {
    lease_.abandon();  // an early answer: the connection is out of step (RFC 9112 9.3)
  }
}

void Attempt::abandon(upstream::Outcome::Kind outcome) {
  if (!running_) return;
  if (limit_ != 0) limit_timer_.disarm();
  if (lease_.held()) {
    const bool answered = first_byte_ != 0 && outcome == upstream::Outcome::Kind::nothing;
    report(answered ? upstream::Outcome::Kind::answered : outcome);
  }
  stream_ = nullptr;
  running_ = false;
  lease_.abandon();
}

void Attempt::clear() {
  abandon();
  response_.reset();
}

void Attempt::on_backend_ready(http::ClientStream& stream) {
  if (limit_ != 0) limit_timer_.disarm();
  stream_ = &stream;
  sent_at_ = loop_->now();
  owner_.on_attempt_ready(*this);
}

void Attempt::on_backend_failed(upstream::Failure why, std::string_view detail) {
  running_ = false;
  if (limit_ != 0) limit_timer_.disarm();
  using enum upstream::Outcome::Kind;
  switch (why) {
    case upstream::Failure::no_capacity: break;   // no server had it
    case upstream::Failure::own_shortage: break;  // no fault of the server's
    case upstream::Failure::connect_failed:
    case upstream::Failure::tls_failed: report(connect_failed); break;
    case upstream::Failure::connect_timeout:
    case upstream::Failure::tls_timeout: report(timed_out); break;
  }
  owner_.on_attempt_failed(*this, why, detail);
}

void Attempt::on_response_head(bool end) {
  first_byte_ = std::max<Nanos>(loop_->now() - sent_at_, 1);
  owner_.on_attempt_head(*this, end);
}

void Attempt::on_response_reset(http::Abort why, bool unanswered, std::string_view detail) {
  const Loss loss{.why = why,
                  .unanswered = unanswered,
                  .sent = stream_ == nullptr || stream_->anything_sent(),
                  .reused = lease_.reused(),
                  .detail = detail};
  using Kind = upstream::Outcome::Kind;
  const Fault fault = fault_of(why, unanswered, loss.sent, loss.reused);
  report(is_free(fault) ? Kind::nothing : fault == Fault::timeout ? Kind::timed_out : Kind::reset);
  stream_ = nullptr;
  running_ = false;
  lease_.finish();  // the codec ends the stream by itself
  owner_.on_attempt_lost(*this, loss);
}

void Attempt::on_backend_timeout() {
  report(upstream::Outcome::Kind::timed_out);
  stream_ = nullptr;
  running_ = false;
  owner_.on_attempt_timeout(*this);
}

}  // namespace pqedge::edge
