// The exchange and its attempts: the request goes to a server, the answer comes back.
#include "edge/exchange.h"
#include "edge/listener_view.h"
#include "edge/worker.h"
#include "http/connection_auth.h"

namespace pqedge::edge {

void Exchange::forward() {
  http::prepare_for_backend(*request_, facts(), identity_, snapshot().settings.identity);
  if (!begin_grpc()) return;
  if (plan_->shape != nullptr && !shape_request()) return;
  pool().read_choice(*request_, identity_.client_ip, choice_);
  if (plan_->shadow.pool != SIZE_MAX && !asks_for_tunnel()) begin_shadow();
  budget().note_request(worker_.loop().now());
  Nanos limit = target_->request_timeout;
  if (grpc_ != nullptr && grpc_->timeout != 0 && (limit == 0 || grpc_->timeout < limit)) {
    limit = grpc_->timeout;
  }
  if (limit != 0) deadline_timer_.arm(worker_.loop(), limit);
  kept_whole_ = request_->body != http::BodyKind::length ||
                request_->content_length <= target_->retry.keep_body;
  gathering_ =
      target_->buffer_request != 0 && request_->body != http::BodyKind::none && !asks_for_tunnel();
  if (gathering_ && gather_body()) {
    if (!pending_.empty()) stream_->consumed(credited_ahead_ = pending_.size());
    return;
  }
  try_server(*attempt_, false);
}

proxy_protocol::Header Exchange::attempt_proxy_header() const {
  const net::ConnectionFacts& f = facts();
  proxy_protocol::Header header;
  header.source = f.peer;
  header.destination = f.local;
  header.alpn = f.alpn;
  header.authority = f.sni;
  header.unique_id = identity_.request_id;
  if (f.secure()) {
    header.tls = proxy_protocol::Tls{.version = std::string(f.tls_version),
                                     .cipher = std::string(f.cipher),
                                     .group = std::string(f.group)};
  }
  return header;
}

uint64_t Exchange::attempt_client() const { return facts().id; }

bool Exchange::attempt_authenticates() const {
  return http::authenticates_connection(request_->fields);
}

upstream::Purpose Exchange::attempt_purpose() const {
  if (request_->method == http::Method::connect) return upstream::Purpose::bytes;
  return request_->upgrade.empty() ? upstream::Purpose::requests : upstream::Purpose::upgrade;
}

// ---- the request -------------------------------------------------------------------------------

void Exchange::on_attempt_ready(Attempt& attempt) {
  if (asks_for_tunnel()) {
    attempt.stream()->send_request_head(*request_, true);
    attempt.expect(target_->response_timeout);
    return;
  }
  const bool whole =
      request_ended_ && pending_.empty() && kept_.empty() && request_->trailers.empty();
  const bool end =
      whole && (request_->body == http::BodyKind::none ||
                (request_->body == http::BodyKind::length && request_->content_length == 0));
  attempt.stream()->send_request_head(*request_, end);
  if (request_->expects_continue && !request_ended_) send_continue();
  kept_.for_each([&](Slice piece) {
    if (attempt.stream() != nullptr) attempt.stream()->send_request_body(std::move(piece));
  });
  while (attempt.stream() != nullptr && !pending_.empty()) {
    pass_body(*attempt.stream(), pending_.pop());
  }
  if (attempt.stream() == nullptr) return;
  if (request_ended_ && !end) attempt.stream()->send_request_end(&request_->trailers);
  attempt.expect(target_->response_timeout);
}

// The body may come: a server has the head, or it is gathered here (RFC 9110 10.1.1).
void Exchange::send_continue() {
  request_->expects_continue = false;
  http::Response go_on(arena_);
  go_on.status = 100;
  stream_->send_informational(go_on);
}

// ---- an attempt that came to nothing -----------------------------------------------------------

void Exchange::on_attempt_failed(Attempt& attempt, upstream::Failure why, std::string_view detail) {
  if (Attempt* other = other_running(attempt); other != nullptr) {
    attempt_ = other;
    return;
  }
  if (why != upstream::Failure::no_capacity) {
    choice_.avoid(attempt.lease().server());
    // With no descriptor for a new connection one that was kept will do.
    const bool fresh = why != upstream::Failure::own_shortage;
    if (try_again(attempt, Fault::no_connection, 0, fresh)) return;
  }
  switch (why) {
    case upstream::Failure::no_capacity:
    case upstream::Failure::own_shortage: answer(503, arena_.copy(detail)); return;
    case upstream::Failure::connect_timeout:
      answer(504, "connect to the backend timed out");
      return;
    case upstream::Failure::connect_failed:
    case upstream::Failure::tls_failed: answer(502, arena_.copy(detail)); return;
    case upstream::Failure::tls_timeout: answer(504, arena_.copy(detail)); return;
  }
}

void Exchange::on_attempt_lost(Attempt& attempt, const Loss& loss) {
  if (stream_ == nullptr) return;
  const upstream::ServerState* const server = attempt.lease().server();
  if (Attempt* other = other_running(attempt); other != nullptr) {
    attempt_ = other;
    return;
  }
  const Fault fault = fault_of(loss.why, loss.unanswered, loss.sent, loss.reused);
  // A kept connection that had died, or one that was going away, says nothing of its server.
  if (!is_free(fault)) choice_.avoid(server);
  if (try_again(attempt, fault, 0)) return;
  if (server != nullptr) server->count.resets.add();
  const std::string_view reason =
      loss.detail.empty() ? http::abort_name(loss.why) : arena_.copy(loss.detail);
  if (response_started_) {
    fail_after_start(reason);
  } else {
    answer(loss.why == http::Abort::timed_out ? 504 : 502, reason);
  }
}

void Exchange::on_attempt_timeout(Attempt& attempt) {
  if (stream_ == nullptr) return;
  if (response_started_) {
    fail_after_start("the backend stopped in the middle of its answer");
    return;
  }
  if (Attempt* other = other_running(attempt); other != nullptr) {
    attempt_ = other;
    return;
  }
  choice_.avoid(attempt.lease().server());
  if (try_again(attempt, Fault::timeout, 0)) return;
  answer(504, "the backend did not answer in time");
}

// ---- the answer --------------------------------------------------------------------------------

void Exchange::on_attempt_head(Attempt& attempt, bool end) {
  if (const auto ok = http::check_response(attempt.response()); !ok) {
    attempt.abandon(upstream::Outcome::Kind::reset);
    if (Attempt* other = other_running(attempt); other != nullptr) {
      attempt_ = other;
      return;
    }
    answer(502, ok.error().reason);
    return;
  }
  if (asks_for_tunnel() && take_tunnel_answer(attempt)) return;
  if (target_->retry.on.takes(attempt.response().status) && again_after_status(attempt, end)) {
    return;
  }
  if (attempt.response().status >= 400 && snapshot().error_pages->replaces_backend_errors() &&
      replace_error(attempt)) {
    return;
  }
  use_answer_of(attempt);
  if (http::challenges_connection(attempt.response())) attempt.lease().bind_to_client();
  if (!end && holds_answer(attempt.response())) {
    holding_ = true;
    attempt.expect(target_->read_timeout);
    return;
  }
  start_answer(attempt, end);
}

// A status that is to be tried elsewhere. False: it is the client's.
bool Exchange::again_after_status(Attempt& attempt, bool end) {
  Attempt* const other = other_running(attempt);
  const uint16_t status = attempt.response().status;
  choice_.avoid(attempt.lease().server());
  if (other == nullptr && !try_again(attempt, Fault::status, status)) return false;
  // The next try begins in a later turn: the codec is still at work on this one.
  attempt.finish(end && request_ended_);
  if (other != nullptr) attempt_ = other;
  return true;
}

// The others are called off.
void Exchange::use_answer_of(Attempt& attempt) {
  if (first_byte_ == 0) first_byte_ = worker_.loop().now();
  if (hedged_) note_winner(attempt);
  attempt_ = &attempt;
  if (try_timer_.armed()) try_timer_.disarm();
}

void Exchange::start_answer(Attempt& attempt, bool end) {
  http::Response& response = attempt.response();
  response_started_ = true;
  status_ = response.status;
  kept_whole_ = false;
  kept_.clear();
  http::prepare_for_client(response, request_->version, listener_->alt_svc_for(facts()),
                           snapshot().settings.identity);
  const std::string_view tie =
      pool().tie_cookie(choice_, attempt.lease().server(), facts().secure(), arena_);
  if (!tie.empty()) response.fields.add(http::Name::set_cookie, tie);
  if (grpc_ != nullptr) begin_grpc_answer(response, end);
  if (plan_->shape != nullptr) shape_response(response);
  if (end) {
    finish_backend();
    // May call on_finished() before it returns: nothing is touched after it.
    stream_->send_head(response, true);
    return;
  }
  attempt.expect(target_->read_timeout);
  stream_->send_head(response, false);
}

void Exchange::on_attempt_body(Attempt& attempt, Slice bytes) {
  if (tunnel_ != nullptr) return tunnel_->from_server(std::move(bytes));
  if (holding_) return hold_body(attempt, std::move(bytes));
  response_uncredited_ += bytes.size;
  send_answer_body(std::move(bytes));
  if (stream_ == nullptr || attempt.stream() == nullptr) return;
  attempt.expect(target_->read_timeout);
  credit_response();
}

void Exchange::on_attempt_end(Attempt& attempt) {
  if (tunnel_ != nullptr) return tunnel_->server_ended();
  if (response_done_) return;
  http::Response& response = attempt.response();
  http::strip_trailers(response.trailers);
  if (holding_) return end_held(attempt);
  finish_backend();
  send_answer_end(response.trailers);
}

// The backend has said all. What the client still sends of its request is not wanted.
void Exchange::finish_backend() {
  response_done_ = true;
  if (deadline_timer_.armed()) deadline_timer_.disarm();
  attempt_->finish(request_ended_ || asks_for_tunnel());
  stop_request_body();
}

}  // namespace pqedge::edge
