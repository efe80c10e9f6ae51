#include "edge/attempt.h"

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

void Attempt::finish(bool in_step) {
  stream_ = nullptr;
  running_ = false;
  if (in_step) {
    lease_.finish();
  } else {
    lease_.abandon();  // an early answer: the connection is out of step (RFC 9112 9.3)
  }
}

void Attempt::abandon() {
  if (limit_ != 0) limit_timer_.disarm();
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
  owner_.on_attempt_ready(*this);
}

void Attempt::on_backend_failed(upstream::Failure why, std::string_view detail) {
  running_ = false;
  if (limit_ != 0) limit_timer_.disarm();
  owner_.on_attempt_failed(*this, why, detail);
}

void Attempt::on_response_reset(http::Abort why, bool unanswered, std::string_view detail) {
  const Loss loss{.why = why,
                  .unanswered = unanswered,
                  .sent = stream_ == nullptr || stream_->anything_sent(),
                  .reused = lease_.reused(),
                  .detail = detail};
  stream_ = nullptr;
  running_ = false;
  lease_.finish();  // the codec closes the connection by itself
  owner_.on_attempt_lost(*this, loss);
}

void Attempt::on_backend_timeout() {
  stream_ = nullptr;
  running_ = false;
  owner_.on_attempt_timeout(*this);
}

}  // namespace pqedge::edge
