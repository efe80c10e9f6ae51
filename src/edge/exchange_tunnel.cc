// The exchange whose answer begins a tunnel: from there on bytes go both ways (tunnel.h).
#include "edge/exchange.h"
#include "edge/listener_view.h"
#include "edge/worker.h"

namespace pqedge::edge {

void Exchange::match_stream() {
  plan_ = &snapshot().plan_for_stream(listener_->settings.name);
  target_ = &plan_->target;
}

// True: the answer needs nothing more. False: it is an ordinary one.
bool Exchange::take_tunnel_answer(Attempt& attempt) {
  if (const std::string_view fault = tunnel_fault(*request_, attempt.response()); !fault.empty()) {
    attempt.abandon(upstream::Outcome::Kind::reset);
    answer(502, fault);
    return true;
  }
  if (!attempt.response().tunnel) return false;
  use_answer_of(attempt);
  begin_tunnel(attempt);
  return true;
}

void Exchange::begin_tunnel(Attempt& attempt) {
  http::Response& response = attempt.response();
  prepare_tunnel_answer(*request_, response);
  response_started_ = true;
  status_ = response.status;
  if (deadline_timer_.armed()) deadline_timer_.disarm();
  http::prepare_for_client(response, request_->version, {}, snapshot().settings.identity);
  const std::string_view tie =
      pool().tie_cookie(choice_, attempt.lease().server(), facts().secure(), arena_);
  if (!tie.empty()) response.fields.add(http::Name::set_cookie, tie);
  if (plan_->shape != nullptr) shape_response(response);
  attempt.expect_nothing();
  const std::string_view protocol = plan_->stream != nullptr ? "tcp" : request_->upgrade;
  tunnel_ = std::make_unique<Tunnel>(worker_.loop(), *stream_, *attempt.stream(),
                                     plan_->settings->tunnel.timeout, protocol,
                                     static_cast<TunnelOwner&>(*this));
  stream_->send_head(response, false);
  // What came before the answer; in HTTP/1.1 the codec has kept it.
  while (stream_ != nullptr && !pending_.empty()) tunnel_->from_client(pending_.pop());
  const bool own_end =
      request_->version == http::Version::http2 || request_->version == http::Version::http3;
  if (stream_ != nullptr && own_end && request_ended_) tunnel_->client_ended();
}

// Both sides see that it was not ended by the other.
void Exchange::on_tunnel_silent() {
  drop_attempts();
  fail_after_start(plan_->stream != nullptr ? "idle timeout" : "the tunnel was silent for too long",
                   true);
}

void Exchange::on_tunnel_server_done() { attempt_->finish(true); }

}  // namespace pqedge::edge
