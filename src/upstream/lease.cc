#include "upstream/lease.h"

#include <utility>

#include "upstream/backend.h"

namespace pqedge::upstream {

Lease::Lease(Requester& requester)
    : requester_(&requester),
      timer_([](void* self) { static_cast<Lease*>(self)->on_timer(); }, this) {}

void Lease::expect(Nanos timeout) {
  if (stream_ != nullptr) timer_.arm(connection_->loop(), timeout);
}

// Far in the future instead of disarmed: arming it again is then cheap. For the same reason it
// stays armed when the stream has ended.
void Lease::expect_nothing() { expect(3600 * kSecond); }

void Lease::on_timer() {
  if (stream_ == nullptr) return;
  connection_->doubt();
  abandon();
  requester_->on_backend_timeout();
}

void Lease::bind_to_client() {
  if (connection_ != nullptr) connection_->pin(requester_->client_connection());
}

void Lease::finish() {
  if (connection_ != nullptr) connection_->release(*this);
}

void Lease::abandon() {
  if (WaitingPlace* place = std::exchange(place_, nullptr); place != nullptr) {
    unlink();
    place->on_waiter_gone(*this);
    return;
  }
  if (connection_ == nullptr) return;
  // The codec first: a connection is not idle as long as the stream has not ended for it.
  if (http::ClientStream* stream = std::exchange(stream_, nullptr); stream != nullptr) {
    stream->cancel();
  }
  connection_->release(*this);
}

}  // namespace pqedge::upstream
