// The exchange toward a backend: acquire, send, answer, try again.
#include <algorithm>

#include "edge/exchange.h"
#include "edge/listener_view.h"
#include "edge/worker.h"

namespace pqedge::edge {

void Exchange::forward() {
  http::prepare_for_backend(*request_, facts(), identity_, snapshot().settings.identity);
  acquire(false);
}

void Exchange::acquire(bool fresh) {
  ++attempts_;
  snapshot_->pool(plan_->pool).acquire(worker_.loop(), lease_, *this, fresh, failed_server_);
}

proxy_protocol::Header Exchange::proxy_header() const {
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

void Exchange::on_backend_ready(http::ClientStream& stream) {
  client_stream_ = &stream;
  connect_time_ = lease_.connect_time();
  const bool has_trailers = !request_->trailers.empty();
  const bool end = request_ended_ && pending_body_.empty() && !has_trailers &&
                   (request_->body == http::BodyKind::none ||
                    (request_->body == http::BodyKind::length && request_->content_length == 0));
  stream.send_request_head(*request_, end);
  if (request_->expects_continue && !request_ended_) {
    // The backend has the head: the body may come (RFC 9110 10.1.1).
    request_->expects_continue = false;
    http::Response go_on(arena_);
    go_on.status = 100;
    stream_->send_informational(go_on);
  }
  while (client_stream_ != nullptr && !pending_body_.empty()) pass_body(pending_body_.pop());
  if (client_stream_ == nullptr) return;
  if (request_ended_ && !end) client_stream_->send_request_end(&request_->trailers);
  lease_.expect(snapshot_->pool(plan_->pool).settings().response_timeout);
}

void Exchange::on_backend_failed(upstream::Failure why, std::string_view detail) {
  // No byte of the request was sent: any method may go elsewhere.
  const upstream::PoolSettings& pool = snapshot_->pool(plan_->pool).settings();
  if (why != upstream::Failure::no_capacity) {
    failed_server_ = lease_.server();
    if (attempts_ <= std::max<size_t>(pool.retries, pool.servers.size() - 1)) {
      send_again();
      return;
    }
  }
  switch (why) {
    case upstream::Failure::no_capacity: answer(503, arena_.copy(detail)); return;
    case upstream::Failure::connect_timeout: answer(504, "connect to the backend timed out"); return;
    case upstream::Failure::connect_failed:
    case upstream::Failure::tls_failed: answer(502, arena_.copy(detail)); return;
    case upstream::Failure::tls_timeout: answer(504, arena_.copy(detail)); return;
  }
}

bool Exchange::may_send_again(bool unanswered, bool anything_sent) const {
  if (!unanswered || response_started_ || body_passed_ || stream_ == nullptr) return false;
  // RFC 9110 9.2.2: only what may be repeated; what was never sent may always go.
  if (anything_sent && !http::is_idempotent(request_->method)) return false;
  const upstream::PoolSettings& pool = snapshot_->pool(plan_->pool).settings();
  // A kept connection that had died says nothing of the server: one more try is free.
  const uint32_t free_tries = lease_.reused() ? 1 : 0;
  return attempts_ <= pool.retries + free_tries;
}

void Exchange::send_again() {
  if (lease_.server() != nullptr) lease_.server()->count.retries.add();
  response_.emplace(arena_);
  acquire(true);
}

void Exchange::on_response_reset(http::Abort why, bool unanswered, std::string_view detail) {
  const bool sent = client_stream_ == nullptr || client_stream_->anything_sent();
  client_stream_ = nullptr;
  const bool reused = lease_.reused();
  const bool again = may_send_again(unanswered, sent);
  lease_.finish();  // the codec closes the connection by itself
  if (stream_ == nullptr) return;
  if (again) {
    if (!reused) failed_server_ = lease_.server();
    send_again();
    return;
  }
  if (lease_.server() != nullptr) lease_.server()->count.resets.add();
  const std::string_view reason =
      detail.empty() ? http::abort_name(why) : arena_.copy(detail);
  if (response_started_) {
    fail_after_start(reason);
  } else {
    answer(why == http::Abort::timed_out ? 504 : 502, reason);
  }
}

void Exchange::on_backend_timeout() {
  client_stream_ = nullptr;
  if (stream_ == nullptr) return;
  if (response_started_) {
    fail_after_start("the backend stopped in the middle of its answer");
  } else {
    answer(504, "the backend did not answer in time");
  }
}

void Exchange::on_informational() {
  // 100 was ours to give; the others pass (RFC 9110 15.2), but not to HTTP/1.0.
  if (response_->status == 100 || request_->version == http::Version::http10) return;
  http::strip_hop_by_hop(response_->fields);
  stream_->send_informational(*response_);
}

void Exchange::on_response_head(bool end) {
  if (first_byte_ == 0) first_byte_ = worker_.loop().now();
  if (const auto ok = http::check_response(*response_); !ok) {
    lease_.abandon();
    client_stream_ = nullptr;
    answer(502, ok.error().reason);
    return;
  }
  response_started_ = true;
  status_ = response_->status;
  http::prepare_for_client(*response_, request_->version, listener_->alt_svc_for(facts()),
                           snapshot().settings.identity);
  if (end) {
    finish_backend();
    // May call on_finished() before it returns: nothing is touched after it.
    stream_->send_head(*response_, true);
    return;
  }
  lease_.expect(snapshot_->pool(plan_->pool).settings().read_timeout);
  stream_->send_head(*response_, false);
}

void Exchange::on_response_body(Slice bytes) {
  response_uncredited_ += bytes.size;
  stream_->send_body(std::move(bytes));
  if (stream_ == nullptr || client_stream_ == nullptr) return;
  lease_.expect(snapshot_->pool(plan_->pool).settings().read_timeout);
  credit_response();
}

void Exchange::on_response_end() {
  if (response_done_) return;
  finish_backend();
  http::strip_trailers(response_->trailers);
  stream_->send_end(&response_->trailers);
}

// The backend has said all. What the client still sends of its request is not wanted.
void Exchange::finish_backend() {
  response_done_ = true;
  if (request_ended_) {
    lease_.finish();
  } else {
    lease_.abandon();  // an early answer: the connection is out of step (RFC 9112 9.3)
  }
  client_stream_ = nullptr;
  stop_request_body();
}

}  // namespace pqedge::edge
