// Taking a request apart, while datagrams are read.
#include <algorithm>

#include "wire/http3/connection.h"
#include "wire/http3/request_stream.h"
#include "wire/quic/endpoint.h"

namespace pqedge::http3 {

void RequestStream::on_data(Bytes bytes, bool end) {
  if (c_.closing()) return;
  received_at_ = c_.now();
  if (end) input_ended_ = true;
  if (discarding_) {
    c_.quic().consumed(*this, bytes.size());
    if (end) mark_ready();
    return;
  }
  if (blocked()) {
    hold(bytes, held_);
    return;
  }
  process(bytes);
}

// Credit for all but body bytes is given at once: they are not kept.
void RequestStream::process(Bytes in) {
  size_t before = in.size();
  const uint64_t body_before = body_received_;
  bool going = true;
  while (going && !discarding_ && !blocked()) {
    switch (frames_.next(in)) {
      case FrameReader::Event::more: going = false; break;
      case FrameReader::Event::begin:
        if (!begin_frame()) return;
        break;
      case FrameReader::Event::payload:
        if (!take_payload(frames_.payload())) return;
        break;
      case FrameReader::Event::end:
        if (!end_frame()) return;
        break;
    }
  }
  if (blocked()) {
    before -= in.size() + held_section_.size();
    hold(in, held_);
  }
  c_.quic().consumed(*this, before - static_cast<size_t>(body_received_ - body_before));
  if (input_ended_ && !blocked()) take_end();
}

bool RequestStream::begin_frame() {
  const uint64_t type = frames_.type();
  if (type == frame::kData) {
    if (phase_ != Phase::body) {
      return c_.fail(ErrorCode::frame_unexpected, "DATA out of place");
    }
    return frames_.length() > 0 || c_.charge(Nuisance::empty_data);
  }
  if (type == frame::kHeaders) {
    if (tunnel_) return c_.fail(ErrorCode::frame_unexpected, "HEADERS in a tunnel");  // 4.4
    if (phase_ == Phase::trailers || phase_ == Phase::done) {
      return c_.fail(ErrorCode::frame_unexpected, "HEADERS after the trailers");
    }
    section_.emplace(id());
    if (phase_ == Phase::body) section_began_at_ = c_.now();
    if (phase_ == Phase::body) {
      phase_ = Phase::trailers;
      trailers_.emplace(handler_->request().trailers, c_.limits());
      return true;
    }
    handler_ = c_.begin_request(*this);
    head_.emplace(handler_->request(), c_.limits());
    return true;
  }
  if (frame::is_of_http2(type)) {
    return c_.fail(ErrorCode::frame_unexpected, "a frame type of HTTP/2");
  }
  if (frame::is_of_control_stream(type) || type == frame::kPushPromise) {
    return c_.fail(ErrorCode::frame_unexpected, "a frame that has no place on a request stream");
  }
  return c_.charge(Nuisance::unknown_frame);
}

bool RequestStream::take_payload(Bytes piece) {
  switch (frames_.type()) {
    case frame::kData: return take_body(piece);
    case frame::kHeaders: return decode(piece, frames_.remaining() == 0);
    default: return true;  // unknown: skipped
  }
}

bool RequestStream::end_frame() {
  if (frames_.type() != frame::kHeaders || !section_) return true;
  // Only a HEADERS frame without payload comes here with its section unread.
  return decode({}, true);
}

// ---- field sections -----------------------------------------------------------------------------

template <typename Reader>
bool RequestStream::decode_with(Reader& reader, Bytes& piece, bool last) {
  const auto status = section_->decode(c_.decoder(), piece, last,
                                       [&](const DecodedField& f) { return reader.add(f); });
  switch (status) {
    case FieldSection::Status::more: return true;
    case FieldSection::Status::done: return section_done();
    case FieldSection::Status::blocked:
      wait_for_inserts_ = section_->required_insert_count();
      hold(piece, held_section_);
      return c_.section_blocked();
    case FieldSection::Status::stopped:
      if (reader.refusal().reason.empty()) {
        refuse(431, "header fields too large");
      } else {
        refuse(reader.refusal().status, reader.refusal().reason, reader.malformed());
      }
      return true;
    case FieldSection::Status::failed:
      return c_.fail(ErrorCode::qpack_decompression_failed, "a field section cannot be decoded");
  }
  return true;
}

bool RequestStream::decode(Bytes piece, bool last) {
  return head_ ? decode_with(*head_, piece, last) : decode_with(*trailers_, piece, last);
}

bool RequestStream::section_done() {
  section_.reset();
  if (trailers_) {
    trailers_.reset();
    phase_ = Phase::done;
    return true;
  }
  if (!head_->finish()) {
    refuse(head_->refusal().status, head_->refusal().reason, head_->malformed());
    return true;
  }
  head_.reset();
  phase_ = Phase::body;
  head_ready_ = true;
  const http::Request& request = handler_->request();
  connect_ = request.method == http::Method::connect;
  tunnel_ = connect_ || !request.upgrade.empty();
  if (early_priority_) {
    update_priority(*early_priority_);
  } else if (const http::Field* f = handler_->request().fields.find(http::Name::priority);
             f != nullptr && !priority_updated_) {
    set_priority(http::parse_priority(f->value));
  }
  mark_ready();
  return true;
}

void RequestStream::try_unblock(uint64_t insert_count) {
  if (!blocked() || insert_count < wait_for_inserts_) return;
  wait_for_inserts_ = 0;
  c_.section_unblocked();
  // Both queues may be filled anew from what is left of them.
  SliceQueue section;
  SliceQueue rest;
  std::swap(section, held_section_);
  std::swap(rest, held_);
  c_.quic().consumed(*this, section.size());
  while (!section.empty() && !discarding_) {
    const Slice s = section.pop();
    if (!decode(s.bytes(), section.empty() && frames_.remaining() == 0)) return;
  }
  if (rest.empty() && !blocked()) process({});
  while (!rest.empty()) {
    const Slice s = rest.pop();
    if (c_.closing()) return;
    if (blocked()) {
      hold(s.bytes(), held_);
    } else if (discarding_) {
      c_.quic().consumed(*this, s.size);
    } else {
      const bool ended = std::exchange(input_ended_, input_ended_ && rest.empty());
      process(s.bytes());
      input_ended_ = ended;
    }
  }
}

void RequestStream::hold(Bytes bytes, SliceQueue& queue) {
  c_.quic().endpoint().copies().copy(bytes, [&](Slice s) { queue.push(std::move(s)); });
}

// ---- body and end -------------------------------------------------------------------------------

bool RequestStream::take_body(Bytes piece) {
  const http::Request& request = handler_->request();
  body_received_ += piece.size();
  if (request.body == http::BodyKind::length && body_received_ > request.content_length) {
    body_received_ -= piece.size();
    refuse(400, "body is longer than Content-Length");
    return true;
  }
  if (body_received_ > c_.limits().max_body && !tunnel_) {
    body_received_ -= piece.size();
    refuse(413, "body is too large");
    return true;
  }
  c_.quic().endpoint().copies().copy(piece, [&](Slice s) {
    // Pieces of one turn lie side by side: joined, the exchange gets few long slices.
    if (!body_.empty() && body_.back().chunk.get() == s.chunk.get() &&
        body_.back().data + body_.back().size == s.data) {
      body_.extend_back(s.size);
    } else {
      body_.push(std::move(s));
    }
  });
  mark_ready();
  return true;
}

bool RequestStream::take_end() {
  if (discarding_ || complete_) return true;
  if (!frames_.between_frames()) {
    return c_.fail(ErrorCode::frame_error, "a request stream ends within a frame");
  }
  if (phase_ == Phase::head) {  // not even HEADERS (RFC 9114 4.1)
    discard_input();
    c_.quic().reset_write(*this, static_cast<uint64_t>(ErrorCode::request_incomplete));
    return c_.charge(Nuisance::bad_request);
  }
  const http::Request& request = handler_->request();
  if (request.body == http::BodyKind::length && body_received_ != request.content_length) {
    refuse(400, "body is shorter than Content-Length");
    return true;
  }
  complete_ = true;
  mark_ready();
  return true;
}

void RequestStream::on_peer_reset(uint64_t) {
  input_ended_ = true;
  if (!complete_ && !discarding_) {
    abort_ = http::Abort::cancelled;
    c_.charge(Nuisance::request_cancelled);
  }
  discard_input();
  if (handler_ == nullptr && !response_ended_ && !c_.closing()) {
    c_.quic().reset_write(*this, static_cast<uint64_t>(ErrorCode::request_cancelled));
  }
  mark_ready();
}

// ---- giving up ----------------------------------------------------------------------------------

// What is malformed is reset (RFC 9114 4.1.2): clients that send such things do not read answers.
// The exchange hears of it all the same, and logs it.
void RequestStream::refuse(uint16_t status, std::string_view reason, bool malformed) {
  bad_status_ = status;
  bad_reason_ = reason;
  if (malformed && !response_begun_ && !c_.closing()) {
    malformed_ = true;
    c_.quic().reset_write(*this, static_cast<uint64_t>(ErrorCode::message_error));
  }
  discard_input();
  mark_ready();
  c_.charge(Nuisance::bad_request);
}

void RequestStream::abandon_section() {
  if (blocked()) {
    wait_for_inserts_ = 0;
    c_.section_unblocked();
  }
  if (section_) {
    section_.reset();
    if (!c_.closing() && !c_.decoder().cancel(id())) {
      c_.fail(ErrorCode::excessive_load, "too many abandoned field sections");
    }
  }
  head_.reset();
  trailers_.reset();
}

// Nothing more of the request is looked at; what was held gives its credit back.
void RequestStream::discard_input() {
  if (discarding_) return;
  discarding_ = true;
  abandon_section();
  const size_t held = held_section_.size() + held_.size() + body_.size();
  held_section_.clear();
  held_.clear();
  body_.clear();
  if (!c_.closing()) c_.quic().consumed(*this, held);
}

}  // namespace pqedge::http3
