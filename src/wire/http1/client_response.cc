// Answers read (RFC 9112 4 to 7).
#include <algorithm>
#include <utility>

#include "wire/http1/client_connection.h"
#include "wire/http1/counters.h"
#include "wire/http1/upgrade.h"

namespace pqedge::http1 {
namespace {

constexpr int kReadsPerTurn = 8;
constexpr uint8_t kMaxInformational = 16;

}  // namespace

// ---- input --------------------------------------------------------------------------------------
bool ClientConnection::wants_input() const {
  switch (answer_) {
    case Answer::none:
    case Answer::head: return true;
    case Answer::body:
    case Answer::tunnel: return !blocked_;
    case Answer::whole:
      return input_.empty();  // more than the answer: once known, it need not be read
  }
  return false;
}

void ClientConnection::on_readable() {
  for (int reads = 0; !input_ended_ && !closed_; ++reads) {
    if (!wants_input()) {
      paused_ = true;
      stream_->pause_reading();
      break;
    }
    if (reads == kReadsPerTurn) {
      more_input_ = true;
      schedule();
      break;
    }
    const net::IoResult got = stream_->read(input_.space());
    if (got.status == net::IoStatus::would_block) break;
    if (got.status == net::IoStatus::end_of_stream) return on_input_end(false);
    if (got.status == net::IoStatus::error) return on_input_end(true);
    input_.filled(got.size);
    process();
  }
  input_.release();
}

// `broken`: the transport failed, or (TLS) ended without saying so. Only a good end may end a body
// that has no length (RFC 9112 8).
void ClientConnection::on_input_end(bool broken) {
  input_ended_ = true;
  // Without its close_notify (RFC 8446 6.1) the end of TLS may be an attacker's.
  constexpr std::string_view kCut = "the backend ended TLS without a close_notify";
  const auto why = [&](std::string_view otherwise) {
    return stream_->truncated() ? kCut : otherwise;
  };
  switch (answer_) {
    case Answer::none: shut({}); return;
    case Answer::head:
      fail(http::Abort::connection_lost, why(answered_ ? "closed in the middle of a response head"
                                                       : "closed before an answer came"));
      return;
    case Answer::body:
      if (body_in_.until_close() && !broken) {
        finish_answer().on_response_end();
      } else {
        fail(http::Abort::connection_lost, why("closed in the middle of a response body"));
      }
      return;
    case Answer::tunnel:
      if (broken)
        return fail(http::Abort::connection_lost, why("the backend broke off the tunnel"));
      process();
      return;
    case Answer::whole:
      if (broken) fail(http::Abort::connection_lost, "closed before the request was sent");
      return;
  }
}

void ClientConnection::process() {
  if (processing_) return;  // a handler called us from inside step()
  processing_ = true;
  while (!closed_ && step()) {
  }
  processing_ = false;
}

bool ClientConnection::step() {
  switch (answer_) {
    case Answer::none: return drop_stray();
    case Answer::head: return read_head();
    case Answer::body: return read_body();
    case Answer::tunnel: return read_tunnel();
    case Answer::whole: return false;
  }
  return false;
}

// Bytes that answer no request could be taken for the answer to the next: the connection is never
// used again.
bool ClientConnection::drop_stray() {
  if (input_.empty()) return false;
  counters::stray_responses.add();
  shut("the backend sent bytes on an idle connection");
  return false;
}

// ---- the head -----------------------------------------------------------------------------------
void ClientConnection::refuse(std::string_view detail) {
  counters::bad_responses.add();
  fail(http::Abort::protocol_error, detail);
}

bool ClientConnection::read_head() {
  const std::string_view bytes = input_.head();
  if (bytes.empty()) return false;
  if (!anything_sent()) {  // an answer before the question: it was meant for another, or none
    counters::stray_responses.add();
    fail(http::Abort::connection_lost, "the backend answered before the request was sent");
    return false;
  }
  answered_ = true;
  constexpr std::string_view kStart = "HTTP/";
  if (!bytes.starts_with(kStart.substr(0, bytes.size()))) {
    refuse("no status line");
    return false;
  }
  const HeadScanner::Outcome found = head_.scan(bytes, head_limits());
  switch (found.status) {
    case HeadScanner::Status::done: take_head(found); return true;
    case HeadScanner::Status::need_more: return false;
    case HeadScanner::Status::error: refuse(found.refusal.reason); return false;
  }
  return false;
}

void ClientConnection::take_head(const HeadScanner::Outcome& found) {
  http::Response& response = request_->response();
  response.fields.clear();
  const std::string_view head = copy_head(input_.head().substr(0, found.size), *response.arena);
  input_.consume_head(found.size);
  const auto framing = read_response(head, found.lines, response);
  if (!framing) return refuse(framing.error().reason);
  head_.reset();
  if (response.status < 200) return take_informational(response.status);
  begin_answer(*framing, response);
}

std::expected<Framing, http::Refusal> ClientConnection::read_response(
    std::string_view head, std::span<const uint32_t> lines, http::Response& response) const {
  const auto line = parse_status_line(head.substr(0, lines.front()));
  if (!line) return std::unexpected(line.error());
  response.version = line->version;
  response.status = line->status;
  const auto parsed = parse_fields(head, lines, HeadKind::response, head_limits(), response.fields);
  if (!parsed) return std::unexpected(parsed.error());
  return response_framing(response, method_);
}

void ClientConnection::take_informational(uint16_t status) {
  if (status == 101) return begin_tunnel(request_->response());
  if (++informationals_ > kMaxInformational) return refuse("too many informational answers");
  request_->on_informational();
}

void ClientConnection::begin_answer(const Framing& framing, http::Response& response) {
  reusable_ = framing.keep_alive;
  response.content_length = framing.length;
  if (framing.coding == Coding::none) {
    response.body = http::BodyKind::none;
    finish_answer().on_response_head(true);
    return;
  }
  response.body =
      framing.coding == Coding::length ? http::BodyKind::length : http::BodyKind::stream;
  body_in_.begin(framing.coding, framing.length);
  answer_ = Answer::body;
  request_->on_response_head(false);
}

// RFC 9110 7.8: a server switches to nothing but what was asked for.
void ClientConnection::begin_tunnel(http::Response& response) {
  if (upgrade_.empty()) return refuse("101 without a request to upgrade");
  if (sending_ != Sending::whole) return refuse("101 before the end of the request");
  if (!switches_to(response, upgrade_)) return refuse("101 to a protocol that was not asked for");
  reusable_ = false;
  tunnel_ = true;
  response.tunnel = true;
  response.body = http::BodyKind::stream;
  answer_ = Answer::tunnel;
  sending_ = Sending::body_due;
  body_out_.begin(Coding::until_close, 0);
  request_->on_response_head(false);
}

// ---- the body -----------------------------------------------------------------------------------
size_t ClientConnection::window() const {
  return unconsumed_ < limits_->body_window ? limits_->body_window - unconsumed_ : 0;
}

bool ClientConnection::read_body() {
  const size_t room = window();
  const HeadLimits trailers{0, limits_->max_fields, limits_->max_trailers};
  BodyReader::Outcome got = body_in_.next(input_, room, trailers, request_->response().trailers);
  switch (got.event) {
    case BodyReader::Event::need_more: blocked_ = room == 0; return false;
    case BodyReader::Event::data:
      unconsumed_ += got.data.size;
      request_->on_response_body(std::move(got.data));
      return true;
    case BodyReader::Event::end: finish_answer().on_response_end(); return true;
    case BodyReader::Event::error: refuse(got.refusal.reason); return false;
  }
  return false;
}

bool ClientConnection::read_tunnel() {
  if (input_.empty()) {
    if (input_ended_) finish_answer().on_response_end();
    return false;
  }
  const size_t room = window();
  if (room == 0) {
    blocked_ = true;
    return false;
  }
  Slice bytes = input_.take(std::min(room, input_.pending().size()));
  unconsumed_ += bytes.size;
  request_->on_response_body(std::move(bytes));
  return true;
}

// Returns who is to be told, which is the last thing to do with this answer.
http::ClientStreamHandler& ClientConnection::finish_answer() {
  http::ClientStreamHandler& request = *request_;
  answer_ = Answer::whole;
  if (sending_ == Sending::whole) {
    // Answered without having been read: what is left would go before the next request.
    if (stream_->backlog() > 0) reusable_ = false;
    release_stream();
  }
  return request;
}

void ClientConnection::response_consumed(size_t n) {
  unconsumed_ -= std::min<uint64_t>(n, unconsumed_);
  if (!blocked_ || window() == 0) return;
  process_due_ = true;
  schedule();
}

}  // namespace pqedge::http1
