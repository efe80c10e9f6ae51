// Answers written (RFC 9112 4 to 7, 9.6).
#include "base/text.h"
#include "wire/http1/counters.h"
#include "wire/http1/server_connection.h"

namespace pqedge::http1 {
namespace {

// Below it the handler is asked for more.
constexpr size_t kLowWater = 64 * 1024;
// A body of which this much is left at most is read to its end after an early answer: the
// connection lives on. Of a longer one the client is better told to stop.
constexpr uint64_t kMaxDrained = 64 * 1024;

}  // namespace

void ServerConnection::write_head(Bytes head) {
  if (head.empty()) {
    counters::broken_answers.add();
    fail(http::Abort::internal_error, "control byte in the head of an answer");
    return;
  }
  stream_->write_copy(head);
  heads_written_ += head.size();
  schedule();
}

void ServerConnection::send_informational(const http::Response& response) {
  if (phase_ == Phase::closed || answer_ != Answer::head_due) return;
  if (message_->version == http::Version::http10) return;  // RFC 9110 15.2
  if (response.status == 100) continue_due_ = false;
  write_head(write_informational(response));
}

// RFC 9112 6.1, 6.2, 6.3; RFC 9110 8.6.
Framing ServerConnection::plan_framing(const http::Response& response, bool end) const {
  Framing framing;
  if (!http::response_has_body(message_->method, response.status)) {
    if (response.status == 204 || response.status < 200) return framing;
    // HEAD and 304 may tell the length that GET would have had.
    framing.has_length = response.body == http::BodyKind::length;
    framing.length = response.content_length;
    if (framing.has_length) return framing;
    if (const auto n = parse_decimal(response.fields.get(http::Name::content_length))) {
      framing.has_length = true;
      framing.length = *n;
    }
    return framing;
  }
  if (response.body != http::BodyKind::stream || end) {
    framing.coding = Coding::length;
    framing.has_length = true;
    if (response.body == http::BodyKind::length) framing.length = response.content_length;
    return framing;
  }
  framing.coding =
      message_->version == http::Version::http10 ? Coding::until_close : Coding::chunked;
  return framing;
}

// Whether the connection stays for another request, as far as it is known when the head is written.
bool ServerConnection::plan_persistence() {
  if (!keep_alive_ || draining_ || requests_ >= limits_->max_requests) return false;
  if (input_ended_ && input_.empty()) return false;
  if (phase_ == Phase::complete) return true;
  // RFC 9110 10.1.1: without the 100 nobody knows whether the body comes.
  if (continue_due_) return false;
  if (phase_ == Phase::dropping) return body_in_.left() <= kMaxDrained;
  return phase_ == Phase::body;  // both directions at once
}

void ServerConnection::send_head(const http::Response& response, bool end) {
  if (phase_ == Phase::closed || answer_ != Answer::head_due) return;
  if (response.tunnel) return begin_tunnel(response);
  const Framing framing = plan_framing(response, end);
  keep_alive_ = plan_persistence() && framing.coding != Coding::until_close;
  Persistence persistence = Persistence::close;
  if (keep_alive_) {
    persistence =
        message_->version == http::Version::http10 ? Persistence::keep_alive : Persistence::silent;
  }
  write_head(write_response_head(response, framing, persistence));
  body_out_.begin(framing.coding, framing.length);
  answer_ = Answer::body_due;
  if (end) send_end(nullptr);
}

// RFC 9110 7.8, 9.3.6. The end of the connection is the end of what follows.
void ServerConnection::begin_tunnel(const http::Response& response) {
  if (phase_ != Phase::complete) {  // out of step: where the tunnel would begin is not known
    counters::broken_answers.add();
    return fail(http::Abort::internal_error, "a tunnel before the end of its request");
  }
  keep_alive_ = false;
  write_head(write_tunnel_head(response, message_->upgrade));
  if (phase_ == Phase::closed) return;
  body_out_.begin(Coding::until_close, 0);
  answer_ = Answer::body_due;
  phase_ = Phase::tunnel;
  unconsumed_ = 0;
  blocked_ = false;
  process_due_ = true;
}

void ServerConnection::send_body(Slice bytes) {
  if (phase_ == Phase::closed || answer_ != Answer::body_due) return;
  if (body_out_.coding() == Coding::none) return;  // HEAD, 204, 304 (RFC 9112 6.3)
  if (!body_out_.write(*stream_, std::move(bytes))) {
    counters::broken_answers.add();
    fail(http::Abort::internal_error, "answer longer than its Content-Length");
    return;
  }
  if (stream_->backlog() > kLowWater) {
    above_low_water_ = true;
    stream_->notify_below(kLowWater);
  }
  schedule();
}

void ServerConnection::send_end(const http::Fields* trailers) {
  if (phase_ == Phase::closed || answer_ != Answer::body_due) return;
  answer_ = Answer::sent;
  if (!body_out_.end(*stream_, trailers)) {
    counters::broken_answers.add();
    fail(http::Abort::internal_error, "answer shorter than its Content-Length");
    return;
  }
  // The end of the connection is the end of the body: it does not wait for the request's.
  if (body_out_.coding() == Coding::until_close) stream_->shutdown_write();
  // An early answer to a request that goes on and on: no more than a little of it is waited for.
  if (phase_ == Phase::dropping && body_in_.left() > kMaxDrained) keep_alive_ = false;
  schedule();
}

void ServerConnection::on_writable() {
  if (above_low_water_ && stream_->backlog() <= kLowWater) {
    above_low_water_ = false;
    if (answer_ == Answer::body_due && request_ != nullptr) request_->on_writable();
  }
  schedule();
}

// RFC 9112 8: the peer must see that the answer is not whole. A reset does that for all framings,
// the end of the connection included.
void ServerConnection::reset(http::Abort why) {
  request_ = nullptr;
  if (phase_ == Phase::closed) return;
  if (answer_ == Answer::body_due) counters::broken_answers.add();
  fail(why, http::abort_name(why));
}

}  // namespace pqedge::http1
