#include "edge/shadow.h"

#include <random>

#include "http/connection_auth.h"

namespace pqedge::edge {
namespace {

counters::Counter shadows_that(std::string_view outcome) {
  return counters::Counter("pqedge_shadow_requests_total",
                           "Copies of requests for a shadow's pool, by what became of them.",
                           {{"outcome", std::string(outcome)}});
}

struct {
  counters::Counter answered = shadows_that("answered");  // a status below 500
  counters::Counter error = shadows_that("error");        // one from 500
  counters::Counter failed = shadows_that("failed");      // no connection, no answer, a broken one
  counters::Counter too_many = shadows_that("too_many");  // not made: shadow_requests
  counters::Counter too_large = shadows_that("too_large");  // not sent: shadow_body
  counters::Counter cut = shadows_that("cut");              // not sent: the request was not whole
} const outcomes;

bool drawn(uint32_t percent) {
  if (percent >= 100) return true;
  thread_local std::minstd_rand random{std::random_device{}()};
  return random() % 10'000 < percent * 100;
}

}  // namespace

// ---- one copy ----------------------------------------------------------------------------------

Shadow::Shadow(Shadows& owner, const SnapshotRef& snapshot, const ShadowPlan& plan,
               const http::Request& request)
    : owner_(owner),
      snapshot_(snapshot),
      plan_(plan),
      request_(arena_),
      attempt_(*this, arena_),
      deadline_([](void* self) { static_cast<Shadow*>(self)->end(outcomes.failed); }, this) {
  plan_.running->fetch_add(1, std::memory_order_relaxed);
  copy_head(request);
}

Shadow::~Shadow() { plan_.running->fetch_sub(1, std::memory_order_relaxed); }

void Shadow::copy_head(const http::Request& from) {
  request_.version = from.version;
  request_.method = from.method;
  request_.method_text = arena_.copy(from.method_text);
  request_.scheme = arena_.copy(from.scheme);
  request_.authority = arena_.copy(from.authority);
  request_.target = arena_.copy(from.target);
  request_.host = arena_.copy(from.host);
  request_.port = from.port;
  request_.path = arena_.copy(from.path);
  request_.query = arena_.copy(from.query);
  request_.body = from.body;
  request_.content_length = from.content_length;
  from.fields.for_each([&](const http::Field& f) {
    http::Field copy = f;
    copy.name = arena_.copy(f.name);
    copy.value = arena_.copy(f.value);
    request_.fields.push(copy);
  });
}

bool Shadow::take(const Slice& bytes) {
  if (body_.size() + bytes.size > plan_.max_body) {
    end(outcomes.too_large);
    return false;
  }
  body_.pack(bytes);
  return true;
}

void Shadow::give_up() { end(outcomes.cut); }

void Shadow::send() {
  if (request_.body == http::BodyKind::stream) {
    request_.body = http::BodyKind::length;
    request_.content_length = body_.size();
  }
  deadline_.arm(owner_.loop_, plan_.timeout);
  attempt_.begin(owner_.loop_, snapshot_->pool(plan_.pool), {}, false);
}

void Shadow::end(const counters::Counter& outcome) {
  if (std::exchange(ended_, true)) return;
  outcome.add();
  deadline_.disarm();
  attempt_.abandon();
  owner_.retire(*this);
}

void Shadow::on_attempt_ready(Attempt& attempt) {
  const bool end = body_.empty();
  attempt.stream()->send_request_head(request_, end);
  while (attempt.stream() != nullptr && !body_.empty()) {
    attempt.stream()->send_request_body(body_.pop());
  }
  if (attempt.stream() != nullptr && !end) attempt.stream()->send_request_end(nullptr);
}

void Shadow::on_attempt_failed(Attempt&, upstream::Failure, std::string_view) {
  end(outcomes.failed);
}

void Shadow::on_attempt_lost(Attempt&, const Loss&) { end(outcomes.failed); }

void Shadow::on_attempt_timeout(Attempt&) { end(outcomes.failed); }

void Shadow::on_attempt_head(Attempt& attempt, bool end) {
  if (end) on_attempt_end(attempt);
}

void Shadow::on_attempt_body(Attempt& attempt, Slice bytes) {
  if (attempt.stream() != nullptr) attempt.stream()->response_consumed(bytes.size);
}

void Shadow::on_attempt_end(Attempt& attempt) {
  if (ended_) return;
  const bool error = attempt.response().status >= 500;
  attempt.finish(true);
  end(error ? outcomes.error : outcomes.answered);
}

// ---- all of them -------------------------------------------------------------------------------

Shadows::Shadows(net::Loop& loop)
    : loop_(loop),
      clear_retired_([](void* self) { static_cast<Shadows*>(self)->clear_retired(); }, this) {}

Shadow* Shadows::begin(const SnapshotRef& snapshot, const ShadowPlan& plan,
                       const http::Request& request, const AttemptOwner& from) {
  if (!drawn(plan.percent)) return nullptr;
  // Its proof of a user is for the connection that the request itself goes on (RFC 4559).
  if (http::authenticates_connection(request.fields)) return nullptr;
  if (plan.running->load(std::memory_order_relaxed) >= plan.at_a_time) {
    outcomes.too_many.add();
    return nullptr;
  }
  if (request.body == http::BodyKind::length && request.content_length > plan.max_body) {
    outcomes.too_large.add();
    return nullptr;
  }
  auto* shadow = new Shadow(*this, snapshot, plan, request);
  active_.push_back(*shadow);
  if (snapshot->pool(plan.pool).settings().send_proxy != 0) {
    shadow->proxy_header_ = from.attempt_proxy_header();
  }
  return shadow;
}

void Shadows::retire(Shadow& shadow) {
  retired_.push_back(shadow);
  loop_.defer(clear_retired_);
}

void Shadows::clear_retired() {
  while (!retired_.empty()) delete &retired_.front();
}

void Shadows::clear() {
  for (auto* list : {&active_, &retired_}) {
    while (!list->empty()) delete &list->front();
  }
}

}  // namespace pqedge::edge
