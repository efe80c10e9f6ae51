#include "edge/exchange.h"

#include <algorithm>

#include "edge/listener_view.h"
#include "edge/worker.h"

namespace pqedge::edge {
namespace {

// Above it no credit is given back to whoever sends: what one exchange may hold on its way.
constexpr size_t kHighWater = 128 * 1024;

}  // namespace

Exchange::Exchange(Worker& worker) : worker_(worker), lease_(*this) {}

void Exchange::begin(http::ServerStream& stream, const ListenerView& listener) {
  request_.emplace(arena_);
  response_.emplace(arena_);
  snapshot_ = worker_.snapshot();
  listener_ = &listener;
  plan_ = &snapshot().no_route();
  stream_ = &stream;
  client_stream_ = nullptr;
  failed_server_ = nullptr;
  identity_ = {};
  request_body_ = 0;
  request_uncredited_ = response_uncredited_ = 0;
  began_ = worker_.loop().now();
  first_byte_ = connect_time_ = 0;
  reason_ = {};
  status_ = 0;
  attempts_ = 0;
  step_ = steps_end_ = nullptr;
  in_route_ = early_data_ = request_ended_ = body_passed_ = dropping_body_ = false;
  response_started_ = response_done_ = retired_ = false;
}

void Exchange::clear() {
  lease_.abandon();
  client_stream_ = nullptr;
  pending_body_.clear();
  response_.reset();
  request_.reset();
  arena_.reset();
  snapshot_ = {};
}

// ---- steps ---------------------------------------------------------------------------------------

void Exchange::on_head(bool end) {
  request_ended_ = end;
  const std::span<const Step> steps = steps_before_route();
  step_ = steps.data();
  steps_end_ = steps.data() + steps.size();
  run_steps();
}

void Exchange::resume() {
  if (stream_ != nullptr && !retired_ && !response_started_) run_steps();
}

void Exchange::wait_for_handshake() { worker_.wait_for_handshake(*this); }

void Exchange::run_steps() {
  for (;;) {
    while (step_ != steps_end_) {
      const Step& step = *step_++;
      if (step.run(*this) != Verdict::next) return;
    }
    if (in_route_) return;
    in_route_ = true;
    step_ = plan_->steps.data();
    steps_end_ = step_ + plan_->steps.size();
  }
}

// ---- the request as it comes ---------------------------------------------------------------------

void Exchange::on_body(Slice bytes) {
  const size_t n = bytes.size;
  request_body_ += n;
  if (dropping_body_) {
    stream_->consumed(n);
    return;
  }
  if (request_body_ > plan_->max_body) {
    stream_->consumed(n);
    lease_.abandon();
    client_stream_ = nullptr;
    if (response_started_) {
      fail_after_start("request body too large after the answer began");
    } else {
      answer(413, "request body larger than the limit");
    }
    return;
  }
  if (client_stream_ == nullptr) {
    pending_body_.push(std::move(bytes));  // at most the codec's window: no credit is given
    return;
  }
  pass_body(std::move(bytes));
}

void Exchange::on_end() {
  if (request_ended_) return;
  request_ended_ = true;
  http::strip_trailers(request_->trailers, snapshot().settings.identity.client_certificate);
  if (client_stream_ == nullptr || dropping_body_) return;
  client_stream_->send_request_end(&request_->trailers);
  if (!response_started_ && plan_->pool != SIZE_MAX) {
    lease_.expect(snapshot_->pool(plan_->pool).settings().response_timeout);
  }
}

void Exchange::on_bad_request(uint16_t status, std::string_view reason) {
  request_ended_ = true;  // nothing more of it comes
  lease_.abandon();
  client_stream_ = nullptr;
  if (response_started_) {
    fail_after_start(reason);
    return;
  }
  answer(status, reason);
}

void Exchange::pass_body(Slice bytes) {
  body_passed_ = true;
  request_uncredited_ += bytes.size;
  client_stream_->send_request_body(std::move(bytes));
  credit_request();
  if (!response_started_) lease_.expect(snapshot_->pool(plan_->pool).settings().response_timeout);
}

void Exchange::credit_request() {
  if (request_uncredited_ == 0 || client_stream_ == nullptr) return;
  if (client_stream_->request_backlog() > kHighWater) return;
  stream_->consumed(std::exchange(request_uncredited_, 0));
}

void Exchange::on_request_writable() {
  credit_request();
  if (!response_started_) lease_.expect(snapshot_->pool(plan_->pool).settings().response_timeout);
}

void Exchange::stop_request_body() {
  dropping_body_ = true;
  const size_t held = pending_body_.size() + std::exchange(request_uncredited_, 0);
  pending_body_.clear();
  if (request_ended_) return;
  if (held > 0) stream_->consumed(held);
  stream_->ignore_request_body();
}

// ---- the answer as it goes -----------------------------------------------------------------------

void Exchange::credit_response() {
  if (response_uncredited_ == 0 || client_stream_ == nullptr) return;
  if (stream_->backlog() > kHighWater) {
    lease_.expect_nothing();  // the client is slow: that is not the backend's fault
    return;
  }
  client_stream_->response_consumed(std::exchange(response_uncredited_, 0));
}

void Exchange::on_writable() {
  if (client_stream_ == nullptr || response_uncredited_ == 0) return;
  lease_.expect(snapshot_->pool(plan_->pool).settings().read_timeout);
  credit_response();
}

// The status is out: the only honest end is one that the client can see (RFC 9112 8, RFC 9113 8.1).
void Exchange::fail_after_start(std::string_view reason) {
  record(reason);
  http::ServerStream& stream = *stream_;
  retire();
  stream.reset(http::Abort::internal_error);
}

void Exchange::on_finished() {
  record({});
  retire();
}

void Exchange::on_reset(http::Abort why) {
  if (retired_) return;
  lease_.abandon();
  client_stream_ = nullptr;
  record(http::abort_name(why));
  retire();
}

void Exchange::retire() {
  retired_ = true;
  ListNode<HandshakeTag>::unlink();
  stream_ = nullptr;
  lease_.abandon();
  client_stream_ = nullptr;
  worker_.retire(*this);
}

}  // namespace pqedge::edge
