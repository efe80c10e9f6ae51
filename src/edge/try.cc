// Which attempts an exchange makes: the first, more after a fault (R15), a second that races it.
#include <array>
#include <utility>

#include "base/text.h"
#include "edge/exchange.h"
#include "edge/shadow.h"
#include "edge/worker.h"

namespace pqedge::edge {
namespace {

constexpr std::string_view kRetriesHelp = "Requests sent again, by why.";

counters::Counter retries_because(std::string_view why) {
  return counters::Counter("pqedge_retries_total", kRetriesHelp, {{"why", std::string(why)}});
}

const counters::Counter& retries(Fault fault) {
  static const std::array<counters::Counter, kFaults> all = {retries_because("no_connection"),
                                                             retries_because("refused"),
                                                             retries_because("dead_connection"),
                                                             retries_because("reset"),
                                                             retries_because("timeout"),
                                                             retries_because("status"),
                                                             counters::Counter()};
  return all[static_cast<size_t>(fault)];
}

const counters::Counter kOverBudget("pqedge_retries_over_budget_total",
                                    "Requests not sent again since the pool's budget was spent.");
constexpr std::string_view kHedgesHelp = "Requests that a second server was asked for, by outcome.";
const counters::Counter kHedgeWon("pqedge_hedges_total", kHedgesHelp, {{"won", "second"}});
const counters::Counter kHedgeLost("pqedge_hedges_total", kHedgesHelp, {{"won", "first"}});

}  // namespace

// ---- the request's body before a server is asked (R16) -----------------------------------------

// True while more of it is to come.
bool Exchange::gather_body() {
  if (!request_ended_ && pending_.size() < target_->buffer_request) {
    if (request_->expects_continue) send_continue();
    return true;
  }
  gathering_ = false;
  // With all of it here its length is known, which servers without chunked coding need.
  if (request_ended_ && request_->body == http::BodyKind::stream && request_->trailers.empty()) {
    request_->body = http::BodyKind::length;
    request_->content_length = pending_.size();
  }
  return false;
}

// ---- tries -------------------------------------------------------------------------------------

// Nothing may follow a call: the exchange's whole life may lie in it.
void Exchange::try_server(Attempt& attempt, bool fresh) {
  ++tries_.begun;
  if (target_->hedge_after != 0 && !hedged_) {
    again_due_ = false;
    try_timer_.arm(worker_.loop(), target_->hedge_after);
  }
  attempt.begin(worker_.loop(), pool(), choice_, fresh, target_->connect_limit);
}

// False: the fault is the client's to know.
bool Exchange::try_again(Attempt& attempt, Fault fault, uint16_t status, bool fresh) {
  if (response_started_ || stream_ == nullptr || !may_repeat_body()) return false;
  if (fault == Fault::refused || fault == Fault::dead_connection) ++tries_.free;
  const RetryPolicy& policy = target_->retry;
  const size_t servers = pool().members()->size();
  if (!may_try_again(policy, fault, status, request_->method, tries_, servers)) return false;
  if (!is_free(fault) && !budget().take(worker_.loop().now())) {
    kOverBudget.add();
    return false;
  }
  retries(fault).add();
  if (attempt.lease().server() != nullptr) attempt.lease().server()->count.retries.add();
  holding_ = false;
  held_.clear();
  attempt_ = &attempt;
  const bool at_once =
      fault == Fault::timeout || (is_free(fault) && (fault != Fault::no_connection || servers > 1));
  if (at_once) {
    try_server(attempt, fresh);
  } else {
    again_due_ = true;
    try_timer_.arm(worker_.loop(), backoff(policy, tries_.begun));
  }
  return true;
}

void Exchange::on_try_timer() {
  if (stream_ == nullptr || response_started_) return;
  if (std::exchange(again_due_, false)) {
    try_server(*attempt_, true);
  } else {
    hedge();
  }
}

Attempt* Exchange::other_running(const Attempt& attempt) {
  if (!hedged_) return nullptr;
  Attempt* const other = &attempt == &first_ ? second_.get() : &first_;
  return other->running() ? other : nullptr;
}

// The first server was silent for so long: another is asked too, and the first answer is taken.
void Exchange::hedge() {
  const bool repeatable = target_->retry.any_method || http::is_idempotent(request_->method);
  const bool body_here =
      request_ended_ && may_repeat_body() && pending_.size() <= target_->retry.keep_body;
  if (hedged_ || holding_ || !attempt_->running() || !repeatable || !body_here) return;
  if (asks_for_tunnel()) return;
  if (!budget().take(worker_.loop().now())) {
    kOverBudget.add();
    return;
  }
  hedged_ = true;
  ++tries_.begun;
  second_ = std::make_unique<Attempt>(static_cast<AttemptOwner&>(*this), arena_);
  upstream::Choice choice = choice_;
  choice.avoid(attempt_->lease().server());
  second_->begin(worker_.loop(), pool(), choice, false, target_->connect_limit);
}

void Exchange::note_winner(Attempt& attempt) {
  Attempt* const other = other_running(attempt);
  if (other == nullptr) return;
  (&attempt == second_.get() ? kHedgeWon : kHedgeLost).add();
  other->abandon();
}

void Exchange::on_deadline() {
  if (stream_ == nullptr || response_done_) return;
  if (grpc_ != nullptr) grpc_->expired = true;
  if (response_started_) {
    drop_attempts();
    fail_after_start("the answer was not whole within request_timeout");
  } else {
    // Before a server was asked it is the client who was slow (buffer_request).
    answer(tries_.begun == 0 ? 408 : 504, "no answer within request_timeout");
  }
}

void Exchange::drop_attempts() {
  first_.abandon();
  if (second_ != nullptr) second_->abandon();
  if (try_timer_.armed()) try_timer_.disarm();
  if (deadline_timer_.armed()) deadline_timer_.disarm();
  holding_ = false;
  held_.clear();
}

// ---- an answer that is read before the client gets it (R16) ------------------------------------

// Events are sent as they come, whatever the route says: they may be minutes apart.
bool Exchange::holds_answer(const http::Response& response) const {
  if (target_->buffer_response == 0 || grpc_ != nullptr) return false;
  if (response.body == http::BodyKind::length &&
      response.content_length > target_->buffer_response) {
    return false;
  }
  bool streams = false;
  response.fields.for_each([&](const http::Field& f) {
    streams = streams || (iequals(f.name, "X-Accel-Buffering") && iequals(f.value, "no"));
  });
  if (streams) return false;
  const std::string_view type = response.fields.get(http::Name::content_type);
  return !iequals(type.substr(0, type.find(';')), "text/event-stream");
}

void Exchange::hold_body(Attempt& attempt, Slice bytes) {
  const size_t n = bytes.size;
  held_.pack(std::move(bytes));
  if (held_.size() > target_->buffer_response) {
    release_held(attempt);
    if (stream_ == nullptr || attempt.stream() == nullptr) return;
    response_uncredited_ += n;
    credit_response();
    return;
  }
  attempt.expect(target_->read_timeout);
  attempt.stream()->response_consumed(n);
}

// It is longer than what is held: the rest streams.
void Exchange::release_held(Attempt& attempt) {
  holding_ = false;
  start_answer(attempt, false);
  while (stream_ != nullptr && !held_.empty()) stream_->send_body(held_.pop());
  held_.clear();
}

void Exchange::end_held(Attempt& attempt) {
  http::Response& response = attempt.response();
  holding_ = false;
  const bool plain = response.trailers.empty();
  if (plain) {
    response.body = http::BodyKind::length;
    response.content_length = held_.size();
  }
  if (plain && held_.empty()) return start_answer(attempt, true);
  start_answer(attempt, false);
  if (stream_ == nullptr) return;
  finish_backend();
  while (stream_ != nullptr && !held_.empty()) stream_->send_body(held_.pop());
  held_.clear();
  if (stream_ != nullptr) stream_->send_end(&response.trailers);
}

// ---- a copy for another pool (R14) -------------------------------------------------------------

void Exchange::begin_shadow() {
  shadow_ = worker_.shadows().begin(snapshot_, plan_->shadow, *request_, *this);
  if (shadow_ == nullptr) return;
  bool taken = true;
  pending_.for_each([&](Slice piece) { taken = taken && shadow_->take(piece); });
  if (!taken) {
    shadow_ = nullptr;
  } else if (request_ended_) {
    std::exchange(shadow_, nullptr)->send();
  }
}

void Exchange::drop_shadow() {
  if (shadow_ != nullptr) std::exchange(shadow_, nullptr)->give_up();
}

}  // namespace pqedge::edge
