// Requests read: heads, bodies, and what is refused (RFC 9112 2 to 7, 9.3).
#include <algorithm>
#include <utility>

#include "base/text.h"
#include "http/rules.h"
#include "wire/http1/counters.h"
#include "wire/http1/server_connection.h"
#include "wire/http1/target.h"
#include "wire/http1/upgrade.h"

namespace pqedge::http1 {
namespace {

// So that one client cannot hold the loop: 8 reads are a quarter of a MiB.
constexpr int kReadsPerTurn = 8;
// What is read and dropped after an early answer, at most (RFC 9112 9.6).
constexpr uint64_t kMaxDropped = 16 * 1024 * 1024;

void take_start_line(const RequestLine& line, http::Request& request) {
  request.method_text = line.method;
  request.method = http::parse_method(line.method);
  request.target = line.target;
  request.version = line.version;
}

}  // namespace

// ---- input --------------------------------------------------------------------------------------
bool ServerConnection::wants_input() const {
  switch (phase_) {
    case Phase::idle:
    case Phase::head:
    case Phase::lingering: return true;
    case Phase::body:
    case Phase::tunnel: return !blocked_;
    case Phase::complete:
      return input_.has_room();  // the next request, as far as one chunk holds it
    case Phase::dropping:
    case Phase::refused: return dropped_ < kMaxDropped;
    case Phase::closed: return false;
  }
  return false;
}

void ServerConnection::on_readable() {
  for (int reads = 0; !input_ended_ && phase_ != Phase::closed; ++reads) {
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
    if (got.status == net::IoStatus::end_of_stream) return on_input_end();
    if (got.status == net::IoStatus::error) return on_input_error("connection lost");
    input_.filled(got.size);
    process();
  }
  input_.release();
}

void ServerConnection::on_input_end() {
  input_ended_ = true;
  input_.release();
  switch (phase_) {
    case Phase::idle:
      stream_->shutdown_write();
      close({});
      break;
    case Phase::head: close("closed by the client in the middle of a head"); break;
    case Phase::body:
      fail(http::Abort::cancelled, "closed by the client in the middle of a body");
      break;
    case Phase::dropping: phase_ = Phase::refused; break;
    case Phase::tunnel: process(); break;
    case Phase::complete:  // half-closed: the answer is still wanted (RFC 9112 9.6)
    case Phase::refused:
    case Phase::lingering:
    case Phase::closed: break;
  }
  schedule();
}

void ServerConnection::on_input_error(std::string_view reason) {
  if (request_ == nullptr) {
    close(phase_ == Phase::head ? reason : std::string_view{});
  } else {
    fail(stream_->truncated() ? http::Abort::cancelled : http::Abort::connection_lost, reason);
  }
}

void ServerConnection::process() {
  if (processing_) return;  // a handler called us from inside step()
  processing_ = true;
  while (step()) {
  }
  processing_ = false;
}

// Whether there may be more to do with what has been read.
bool ServerConnection::step() {
  switch (phase_) {
    case Phase::idle:
    case Phase::head: return read_head();
    case Phase::body: return read_body();
    case Phase::dropping: return drop_body();
    case Phase::tunnel: return read_tunnel();
    case Phase::refused:
    case Phase::lingering:
      dropped_ += input_.pending().size();
      input_.clear();
      if (phase_ == Phase::lingering && dropped_ > kMaxDropped) {
        counters::linger_overruns.add();
        close({});
      }
      return false;
    case Phase::complete:
    case Phase::closed: return false;
  }
  return false;
}

// ---- the head -----------------------------------------------------------------------------------
bool ServerConnection::read_head() {
  std::string_view bytes = input_.head();
  if (bytes.empty()) return false;
  // One empty line before the request line is forgiven (RFC 9112 2.2).
  if (phase_ == Phase::idle && !blank_line_ && bytes.front() == '\r') {
    if (bytes.size() == 1) return false;
    if (bytes[1] == '\n') {
      input_.consume(2);
      blank_line_ = true;
      bytes.remove_prefix(2);
      if (bytes.empty()) return false;
    }
  }
  const HeadScanner::Outcome found = head_.scan(bytes, head_limits());
  switch (found.status) {
    case HeadScanner::Status::done: begin_request(found); return true;
    case HeadScanner::Status::need_more:
      if (!check_start_line(bytes)) return true;
      if (phase_ == Phase::idle) {
        phase_ = Phase::head;
        set_clock(Clock::head, limits_->header_timeout);
      }
      return false;
    case HeadScanner::Status::error:
      if (!check_start_line(bytes)) return true;
      refuse_head(found.refusal.status, found.refusal.reason);
      return true;
  }
  return false;
}

// A request line that is wrong is refused without waiting for the rest: HTTP/0.9 has none.
bool ServerConnection::check_start_line(std::string_view bytes) {
  const size_t n = head_.start_line();
  if (n == 0 || start_line_good_) return true;
  if (const auto line = parse_request_line(bytes.substr(0, n), limits_->max_target); !line) {
    refuse_head(line.error().status, line.error().reason);
    return false;
  }
  start_line_good_ = true;
  return true;
}

// Refuses a head that is not complete, with as much of it as can be told.
void ServerConnection::refuse_head(uint16_t status, std::string_view reason) {
  http::Request& request = open_request();
  const std::string_view start = input_.head().substr(0, head_.start_line());
  if (!start.empty()) {
    const auto line = parse_request_line(request.arena->copy(start), limits_->max_target);
    if (line) take_start_line(*line, request);
  }
  refuse(status, reason);
}

http::Request& ServerConnection::open_request() {
  ++requests_;
  input_before_ = input_.consumed();
  heads_written_ = 0;
  body_received_ = 0;
  dropped_ = 0;
  unconsumed_ = 0;
  blocked_ = false;
  above_low_water_ = false;
  continue_due_ = false;
  keep_alive_ = false;
  body_out_.begin(Coding::none, 0);
  answer_ = Answer::head_due;
  request_ = &owner_.on_stream(*this);
  message_ = &request_->request();
  message_->scheme = facts_.secure() ? "https" : "http";
  return *message_;
}

void ServerConnection::begin_request(const HeadScanner::Outcome& found) {
  http::Request& request = open_request();
  const std::string_view head = copy_head(input_.head().substr(0, found.size), *request.arena);
  input_.consume_head(found.size);
  set_clock(Clock::none, 0);
  const auto framing = read_request(head, found.lines, request);
  if (!framing) return refuse(framing.error().status, framing.error().reason);
  keep_alive_ = framing->keep_alive;
  continue_due_ = request.expects_continue;
  // Without the tunnel, nobody knows whether what follows was meant for it.
  if (request.method == http::Method::connect) keep_alive_ = false;
  if (framing->coding == Coding::length && framing->length > limits_->max_body) {
    return refuse(413, "request body larger than the limit");
  }
  if (framing->coding == Coding::none) {
    phase_ = Phase::complete;
    request.upgrade = requested_upgrade(request);
    return request_->on_head(true);
  }
  request.body =
      framing->coding == Coding::length ? http::BodyKind::length : http::BodyKind::stream;
  request.content_length = framing->length;
  body_in_.begin(framing->coding, framing->length);
  phase_ = Phase::body;
  set_clock(Clock::body, limits_->body_timeout);
  request_->on_head(false);
}

std::expected<Framing, http::Refusal> ServerConnection::read_request(
    std::string_view head, std::span<const uint32_t> lines, http::Request& request) {
  const auto line = parse_request_line(head.substr(0, lines.front()), limits_->max_target);
  if (!line) return std::unexpected(line.error());
  take_start_line(*line, request);
  const auto parsed = parse_fields(head, lines, HeadKind::request, head_limits(), request.fields);
  if (!parsed) return std::unexpected(parsed.error());
  auto framing = request_framing(request);
  if (!framing) return framing;
  if (const auto split = split_target(request); !split) return std::unexpected(split.error());
  if (const auto good = http::check_request(request); !good) return std::unexpected(good.error());
  return framing;
}

// ---- the body -----------------------------------------------------------------------------------
size_t ServerConnection::window() const {
  return unconsumed_ < limits_->body_window ? limits_->body_window - unconsumed_ : 0;
}

bool ServerConnection::read_body() {
  const size_t room = window();
  const HeadLimits trailers{0, limits_->max_fields, limits_->max_trailers};
  BodyReader::Outcome got = body_in_.next(input_, room, trailers, message_->trailers);
  switch (got.event) {
    case BodyReader::Event::need_more:
      if (room == 0) {
        blocked_ = true;
        set_clock(Clock::none, 0);  // it is not the client who is slow
      } else {
        set_clock(Clock::body, limits_->body_timeout);
      }
      return false;
    case BodyReader::Event::data:
      continue_due_ = false;
      body_received_ += got.data.size;
      if (body_received_ > limits_->max_body) {
        refuse(413, "request body larger than the limit");
        return true;
      }
      unconsumed_ += got.data.size;
      request_->on_body(std::move(got.data));
      return true;
    case BodyReader::Event::end:
      phase_ = Phase::complete;
      set_clock(Clock::none, 0);
      request_->on_end();
      schedule();
      return true;
    case BodyReader::Event::error: refuse(got.refusal.status, got.refusal.reason); return true;
  }
  return false;
}

bool ServerConnection::drop_body() {
  const HeadLimits trailers{0, limits_->max_fields, limits_->max_trailers};
  const BodyReader::Outcome got = body_in_.next(input_, SIZE_MAX, trailers, message_->trailers);
  switch (got.event) {
    case BodyReader::Event::need_more: set_clock(Clock::body, limits_->body_timeout); return false;
    case BodyReader::Event::data: dropped_ += got.data.size; return true;
    case BodyReader::Event::end:
      phase_ = Phase::complete;
      set_clock(Clock::none, 0);
      schedule();
      return true;
    case BodyReader::Event::error:
      keep_alive_ = false;
      phase_ = Phase::refused;
      schedule();
      return true;
  }
  return false;
}

// ---- a tunnel -----------------------------------------------------------------------------------
bool ServerConnection::read_tunnel() {
  if (input_.empty()) {
    if (!input_ended_) return false;
    phase_ = Phase::complete;
    request_->on_end();
    schedule();
    return false;
  }
  const size_t room = window();
  if (room == 0) {
    blocked_ = true;
    return false;
  }
  Slice bytes = input_.take(std::min(room, input_.pending().size()));
  unconsumed_ += bytes.size;
  request_->on_body(std::move(bytes));
  return true;
}

void ServerConnection::consumed(size_t n) {
  unconsumed_ -= std::min<uint64_t>(n, unconsumed_);
  if (!blocked_ || window() == 0) return;
  process_due_ = true;
  schedule();
}

void ServerConnection::ignore_request_body() {
  if (phase_ != Phase::body) return;
  phase_ = Phase::dropping;
  blocked_ = false;
  process_due_ = true;
  schedule();
}

// ---- refusals -----------------------------------------------------------------------------------
// Nothing more of the request is handed over, and the connection ends with the answer: where the
// next request begins is not known, or not wanted.
void ServerConnection::refuse(uint16_t status, std::string_view reason) {
  keep_alive_ = false;
  phase_ = Phase::refused;
  set_clock(Clock::none, 0);
  counters::refused(status).add();
  schedule();
  if (answer_ == Answer::sent) return;  // it needed no more of the request
  request_->on_bad_request(status, reason);
}

}  // namespace pqedge::http1
