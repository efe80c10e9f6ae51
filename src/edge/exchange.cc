#include "edge/exchange.h"

#include <algorithm>
#include <utility>

#include "edge/listener_view.h"
#include "edge/shadow.h"
#include "edge/worker.h"

namespace pqedge::edge {
namespace {

// Above it no credit is given back to whoever sends: what one exchange may hold on its way.
constexpr size_t kHighWater = 128 * 1024;

}  // namespace

Exchange::Exchange(Worker& worker)
    : worker_(worker),
      first_(*this, arena_),
      try_timer_([](void* self) { static_cast<Exchange*>(self)->on_try_timer(); }, this),
      deadline_timer_([](void* self) { static_cast<Exchange*>(self)->on_deadline(); }, this) {}

void Exchange::begin(http::ServerStream& stream, const ListenerView& listener) {
  request_.emplace(arena_);
  response_.emplace(arena_);
  snapshot_ = worker_.snapshot();
  listener_ = &listener;
  plan_ = &snapshot().no_route();
  target_ = &plan_->target;
  stream_ = &stream;
  identity_ = {};
  attempt_ = &first_;
  choice_ = {};
  tries_ = {};
  request_body_ = 0;
  credited_ahead_ = request_uncredited_ = response_uncredited_ = 0;
  began_ = worker_.loop().now();
  first_byte_ = 0;
  reason_ = {};
  came_target_ = came_authority_ = set_cookie_ = {};
  status_ = 0;
  step_ = steps_end_ = nullptr;
  in_route_ = early_data_ = request_ended_ = gathering_ = again_due_ = hedged_ = false;
  body_passed_ = kept_whole_ = holding_ = dropping_body_ = false;
  response_started_ = response_done_ = retired_ = false;
  on_canary_ = false;
}

void Exchange::clear() {
  tunnel_.reset();
  grpc_.reset();
  drop_attempts();
  first_.clear();
  second_.reset();
  pending_.clear();
  kept_.clear();
  response_.reset();
  request_.reset();
  arena_.reset();
  snapshot_ = {};
}

// ---- steps -------------------------------------------------------------------------------------

void Exchange::on_head(bool end) {
  request_ended_ = end;
  const std::span<const Step> steps =
      listener_->settings.takes_stream() ? steps_before_stream() : steps_before_route();
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

// ---- the request as it comes -------------------------------------------------------------------

void Exchange::on_body(Slice bytes) {
  request_body_ += bytes.size;
  if (!dropping_body_ && decodes_grpc() && (!decode_grpc(bytes) || bytes.empty())) return;
  const size_t n = bytes.size;
  if (tunnel_ != nullptr) return tunnel_->from_client(std::move(bytes));
  if (dropping_body_) {
    stream_->consumed(n);
    return;
  }
  if (asks_for_tunnel()) return pending_.push(std::move(bytes));  // no credit: at most the window
  if (request_body_ > plan_->max_body) {
    stream_->consumed(n);
    drop_attempts();
    if (response_started_) {
      fail_after_start("request body too large after the answer began", true);
    } else {
      answer(413, "request body larger than the limit");
    }
    return;
  }
  if (shadow_ != nullptr && !shadow_->take(bytes)) shadow_ = nullptr;
  if (gathering_) {
    pending_.pack(std::move(bytes));
    if (gather_body()) {
      credited_ahead_ += n;
      stream_->consumed(n);
    } else {
      try_server(*attempt_, false);
    }
    return;
  }
  http::ClientStream* const server = attempt_->stream();
  if (server == nullptr || !pending_.empty()) {
    pending_.push(std::move(bytes));  // at most the codec's window: no credit is given
    return;
  }
  pass_body(*server, std::move(bytes));
}

void Exchange::on_end() {
  if (tunnel_ != nullptr) return tunnel_->client_ended();
  if (request_ended_) return;
  request_ended_ = true;
  if (asks_for_tunnel()) return;
  http::strip_trailers(request_->trailers, snapshot().settings.identity);
  if (plan_->shape != nullptr) plan_->shape->request.strip_trailers(request_->trailers);
  if (dropping_body_) return;
  if (decodes_grpc() && grpc_->text.begun() != 0) {
    return on_bad_request(400, "the body of gRPC-Web ends within a group of base64");
  }
  if (shadow_ != nullptr) std::exchange(shadow_, nullptr)->send();
  if (gathering_) {
    gather_body();
    try_server(*attempt_, false);
    return;
  }
  if (attempt_->stream() == nullptr) return;
  attempt_->stream()->send_request_end(&request_->trailers);
  if (!response_started_) attempt_->expect(target_->response_timeout);
}

void Exchange::on_bad_request(uint16_t status, std::string_view reason) {
  request_ended_ = true;  // nothing more of it comes
  drop_attempts();
  if (response_started_) {
    fail_after_start(reason, true);
    return;
  }
  answer(status, reason);
}

void Exchange::pass_body(http::ClientStream& stream, Slice bytes) {
  body_passed_ = true;
  if (kept_whole_) {
    if (kept_.size() + bytes.size <= target_->retry.keep_body) {
      kept_.pack(bytes);
    } else {
      kept_whole_ = false;
      kept_.clear();
    }
  }
  const size_t ahead = std::min(bytes.size, credited_ahead_);
  credited_ahead_ -= ahead;
  request_uncredited_ += bytes.size - ahead;
  stream.send_request_body(std::move(bytes));
  credit_request();
  if (!response_started_) attempt_->expect(target_->response_timeout);
}

void Exchange::credit_request() {
  http::ClientStream* const server = attempt_->stream();
  if (request_uncredited_ == 0 || server == nullptr) return;
  if (server->request_backlog() > kHighWater) return;
  stream_->consumed(std::exchange(request_uncredited_, 0));
}

void Exchange::on_attempt_writable(Attempt& attempt) {
  if (tunnel_ != nullptr) return tunnel_->server_writable();
  credit_request();
  if (!response_started_) attempt.expect(target_->response_timeout);
}

void Exchange::stop_request_body() {
  dropping_body_ = true;
  gathering_ = kept_whole_ = false;
  drop_shadow();
  const size_t held = pending_.size() - std::min(pending_.size(), credited_ahead_) +
                      std::exchange(request_uncredited_, 0);
  credited_ahead_ = 0;
  pending_.clear();
  kept_.clear();
  if (request_ended_) return;
  if (held > 0) stream_->consumed(held);
  stream_->ignore_request_body();
}

// ---- the answer as it goes ---------------------------------------------------------------------

void Exchange::credit_response() {
  if (response_uncredited_ == 0 || attempt_->stream() == nullptr) return;
  if (stream_->backlog() > std::max(kHighWater, target_->buffer_response)) {
    attempt_->expect_nothing();  // the client is slow: that is not the backend's fault
    return;
  }
  attempt_->stream()->response_consumed(std::exchange(response_uncredited_, 0));
}

void Exchange::on_writable() {
  if (tunnel_ != nullptr) return tunnel_->client_writable();
  if (attempt_->stream() == nullptr || response_uncredited_ == 0) return;
  attempt_->expect(target_->read_timeout);
  credit_response();
}

// The status is out: the only honest end is one that the client can see (RFC 9112 8, RFC 9113 8.1).
void Exchange::fail_after_start(std::string_view reason, bool by_client) {
  if (on_canary_ && !by_client && status_ < 500) {
    plan_->shape->canary->report_broken_off(worker_.loop().now());
  }
  if (grpc_ != nullptr && end_grpc(reason)) return;
  record(reason);
  http::ServerStream& stream = *stream_;
  retire();
  stream.reset(tunnel_ == nullptr ? http::Abort::internal_error : http::Abort::connection_lost);
}

void Exchange::on_finished() {
  record({});
  retire();
}

void Exchange::on_reset(http::Abort why) {
  if (retired_) return;
  drop_attempts();
  record(http::abort_name(why));
  retire();
}

void Exchange::retire() {
  retired_ = true;
  ListNode<HandshakeTag>::unlink();
  stream_ = nullptr;
  drop_attempts();
  drop_shadow();
  worker_.retire(*this);
}

}  // namespace pqedge::edge
