// Taking an answer apart, and telling of it.
#include <algorithm>
#include <utility>

#include "wire/http3/client_connection.h"
#include "wire/http3/client_stream.h"

namespace pqedge::http3 {
namespace {

constexpr uint8_t kMaxInformational = 16;

}  // namespace

void ClientStream::deliver() {
  deliver_input();
  if (handler_ != nullptr && !response_ended_ && closed_ && input_.empty() && !input_ended_) {
    fail(http::Abort::cancelled, "the backend ended the stream");
  }
  if (handler_ != nullptr && abort_ != http::Abort::none) tell_failure();
  if (closed_ && handler_ == nullptr) c_.stream_gone(*this);
}

void ClientStream::deliver_input() {
  while (handler_ != nullptr && abort_ == http::Abort::none && !response_ended_ && step()) {
  }
}

// False: nothing more can be told for now.
bool ClientStream::step() {
  const Slice s = input_.empty() ? Slice{} : input_.front();  // keeps the bytes
  Bytes in = s.bytes();
  if (reading_data()) {
    const size_t window = c_.limits().body_window;
    if (unconsumed_ >= window) return false;
    in = in.first(std::min(in.size(), window - unconsumed_));
  }
  const size_t before = in.size();
  const FrameReader::Event event = frames_.next(in);
  const size_t used = before - in.size();
  input_.consume(used);
  const bool data = frames_.type() == frame::kData && event == FrameReader::Event::payload;
  if (!data) c_.quic().consumed(*this, used);  // the rest is not kept
  switch (event) {
    case FrameReader::Event::more:
      if (!input_.empty()) return true;
      if (input_ended_) take_end();
      return false;
    case FrameReader::Event::begin: return begin_frame();
    case FrameReader::Event::payload:
      if (data) return take_body({s.chunk, frames_.payload().data(), frames_.payload().size()});
      return frames_.type() != frame::kHeaders ||
             decode(frames_.payload(), frames_.remaining() == 0);
    case FrameReader::Event::end:
      // Only a HEADERS frame without payload comes here with its section unread.
      return frames_.type() != frame::kHeaders || !section_ || decode({}, true);
  }
  return false;
}

bool ClientStream::begin_frame() {
  const uint64_t type = frames_.type();
  if (type == frame::kData) {
    if (phase_ != Phase::body) return break_off(ErrorCode::frame_unexpected, "DATA out of place");
    return frames_.length() > 0 || charge(Nuisance::empty_data);
  }
  if (type == frame::kHeaders) {
    if (phase_ == Phase::trailers || phase_ == Phase::done) {
      return break_off(ErrorCode::frame_unexpected, "HEADERS after the trailers");
    }
    answered_ = true;
    section_.emplace(id());
    if (phase_ == Phase::body) {
      phase_ = Phase::trailers;
      trailers_.emplace(handler_->response().trailers, c_.limits());
    } else {
      head_.emplace(handler_->response(), c_.limits());
    }
    return true;
  }
  if (type == frame::kPushPromise) {
    return break_off(ErrorCode::id_error, "a push that was not allowed");
  }
  if (frame::is_of_http2(type) || frame::is_of_control_stream(type)) {
    return break_off(ErrorCode::frame_unexpected, "a frame that has no place on a request stream");
  }
  return charge(Nuisance::unknown_frame);
}

bool ClientStream::decode(Bytes piece, bool last) {
  const auto status = section_->decode(c_.decoder(), piece, last, [this](const DecodedField& f) {
    return head_ ? head_->add(f) : trailers_->add(f);
  });
  switch (status) {
    case FieldSection::Status::more: return true;
    case FieldSection::Status::done:
      section_.reset();
      if (head_) return head_done();
      trailers_.reset();
      phase_ = Phase::done;
      return true;
    case FieldSection::Status::stopped: {
      const std::string_view why = head_ ? head_->reason() : trailers_->refusal().reason;
      return refuse(why.empty() ? "a field is too large" : why);
    }
    case FieldSection::Status::blocked:  // there is no dynamic table
    case FieldSection::Status::failed:
      return break_off(ErrorCode::qpack_decompression_failed, "a field section cannot be decoded");
  }
  return false;
}

bool ClientStream::head_done() {
  const bool good = head_->finish();
  const std::string_view why = head_->reason();
  head_.reset();
  if (!good) return refuse(why);
  http::Response& response = handler_->response();
  if (response.status < 200) {
    if (++informationals_ > kMaxInformational) return refuse("too many informational answers");
    response.body = http::BodyKind::none;
    handler_->on_informational();
    return handler_ != nullptr;
  }
  phase_ = Phase::body;
  const bool bodiless = !http::response_has_body(method_, response.status);
  const bool end = bodiless || input_over();
  if (end) {
    if (!bodiless && response.body == http::BodyKind::length && response.content_length > 0) {
      return refuse("the body is shorter than its Content-Length");
    }
    if (bodiless || response.body == http::BodyKind::stream) response.body = http::BodyKind::none;
    end_response().on_response_head(true);
    return false;
  }
  if (response.body == http::BodyKind::length) body_left_ = response.content_length;
  handler_->on_response_head(false);
  return handler_ != nullptr;
}

bool ClientStream::take_body(Slice piece) {
  if (body_left_) {
    if (piece.size > *body_left_) {
      c_.quic().consumed(*this, piece.size);
      return refuse("the body is longer than its Content-Length");
    }
    *body_left_ -= piece.size;
  }
  unconsumed_ += piece.size;
  handler_->on_response_body(std::move(piece));
  return handler_ != nullptr;
}

void ClientStream::take_end() {
  if (!frames_.between_frames()) {
    break_off(ErrorCode::frame_error, "a request stream ends within a frame");
  } else if (phase_ == Phase::head) {
    refuse("the stream ended before an answer");
  } else if (body_left_.value_or(0) > 0) {
    refuse("the body is shorter than its Content-Length");
  } else {
    end_response().on_response_end();
  }
}

// Returns who is to be told, which is the last thing to do with this answer.
http::ClientStreamHandler& ClientStream::end_response() {
  http::ClientStreamHandler& handler = *handler_;
  response_ended_ = true;
  if (request_ended_) handler_ = nullptr;
  discarding_ = true;
  if (input_.empty()) return handler;
  c_.quic().consumed(*this, input_.size());  // beyond the answer
  input_.clear();
  return handler;
}

// QUIC may have forgotten the stream while the client has not taken all of the answer yet.
void ClientStream::response_consumed(size_t n) {
  n = std::min(n, unconsumed_);
  unconsumed_ -= n;
  if (c_.closing()) return;
  c_.quic().consumed(*this, n);
  if (response_ended_ || (input_.empty() && !input_ended_)) return;
  c_.ready(*this);
  c_.quic().wake();
}

}  // namespace pqedge::http3
