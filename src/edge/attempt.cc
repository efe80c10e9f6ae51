#include "edge/attempt.h"

namespace pqedge::edge {

void Attempt::begin(net::Loop& loop, upstream::Pool& pool, bool fresh,
                    const upstream::ServerState* avoid) {
  response_.emplace(arena_);
  stream_ = nullptr;
  running_ = true;
  pool.acquire(loop, lease_, *this, fresh, avoid);
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
  stream_ = nullptr;
  running_ = false;
  lease_.abandon();
}

void Attempt::clear() {
  abandon();
  response_.reset();
}

void Attempt::on_backend_ready(http::ClientStream& stream) {
  stream_ = &stream;
  owner_.on_attempt_ready(*this);
}

void Attempt::on_backend_failed(upstream::Failure why, std::string_view detail) {
  running_ = false;
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
