// The answer, as frames.
#include "wire/http3/connection.h"
#include "wire/http3/request_stream.h"

namespace pqedge::http3 {
namespace {

ErrorCode code_of(http::Abort why) {
  switch (why) {
    case http::Abort::protocol_error: return ErrorCode::message_error;
    case http::Abort::refused: return ErrorCode::request_rejected;
    case http::Abort::too_large:
    case http::Abort::flood: return ErrorCode::excessive_load;
    case http::Abort::internal_error: return ErrorCode::internal_error;
    case http::Abort::none:
    case http::Abort::cancelled:
    case http::Abort::connection_lost:
    case http::Abort::timed_out: break;
  }
  return ErrorCode::request_cancelled;
}

}  // namespace

void RequestStream::write_frame_header(uint64_t type, uint64_t length) {
  uint8_t header[16];
  const uint8_t* const end = store_frame_header(header, type, length);
  c_.quic().write_copy(*this, {header, end});
}

void RequestStream::write_section(std::span<const nghttp3_nv> fields) {
  QpackEncoder& encoder = c_.encoder();
  if (!encoder.encode(id(), fields)) {
    c_.fail(ErrorCode::internal_error, "the QPACK encoder failed");
    return;
  }
  c_.write_encoder_stream(encoder.encoder_stream());
  write_frame_header(frame::kHeaders, encoder.prefix().size() + encoder.section().size());
  c_.quic().write_copy(*this, encoder.prefix());
  c_.quic().write_copy(*this, encoder.section());
}

void RequestStream::send_informational(const http::Response& response) {
  if (c_.closing() || closed_ || response_begun_ || malformed_) return;
  write_section(c_.response_fields().of_head(response));
}

void RequestStream::send_head(const http::Response& response, bool end) {
  if (malformed_) {  // it was reset
    response_ended_ |= end;
    return;
  }
  if (c_.closing() || closed_ || response_begun_) return;
  response_begun_ = true;
  c_.watch(c_.now() + c_.limits().send_timeout);
  merge_priority(response);
  write_section(c_.response_fields().of_head(response));
  if (end) {
    send_end(nullptr);
    return;
  }
  // A known length is one frame, whatever pieces the body comes in.
  if (response.body == http::BodyKind::length) {
    response_left_ = response.content_length;
    if (*response_left_ > 0) write_frame_header(frame::kData, *response_left_);
  }
}

void RequestStream::send_body(Slice bytes) {
  if (c_.closing() || closed_ || response_ended_ || malformed_ || bytes.empty()) return;
  if (response_left_) {
    if (bytes.size > *response_left_) {
      // More than was announced: the rest has no place in the message.
      bytes.size = static_cast<size_t>(*response_left_);
    }
    *response_left_ -= bytes.size;
  } else {
    write_frame_header(frame::kData, bytes.size);
  }
  c_.quic().write(*this, std::move(bytes));
}

void RequestStream::send_end(const http::Fields* trailers) {
  if (malformed_) response_ended_ = true;
  if (c_.closing() || closed_ || response_ended_) return;
  if (response_left_.value_or(0) > 0) {
    // Less than was announced must be seen as a failure, by both sides.
    c_.quic().reset_write(*this, static_cast<uint64_t>(ErrorCode::internal_error));
    abort_ = http::Abort::internal_error;
    mark_ready();
    return;
  }
  if (trailers != nullptr && !trailers->empty()) {
    write_section(c_.response_fields().of_trailers(*trailers));
  }
  response_ended_ = true;
  c_.quic().write_end(*this);
}

void RequestStream::reset(http::Abort why) {
  handler_ = nullptr;
  discard_input();
  if (closed_) deliver_later();  // nothing else would destroy it
  if (c_.closing() || closed_) return;
  c_.quic().consumed(*this, std::exchange(unconsumed_, 0));
  // The other end of the tunnel broke: RFC 9114 4.4; where it is an upgrade, RFC 9220 3.
  const bool far_end = tunnel_ && response_begun_ && why == http::Abort::connection_lost;
  const ErrorCode broke = connect_ ? ErrorCode::connect_error : ErrorCode::request_cancelled;
  const ErrorCode code = far_end ? broke : code_of(why);
  c_.quic().reset_write(*this, static_cast<uint64_t>(code));
  stop_input(code);
}

void RequestStream::stop_input(ErrorCode code) {
  if (stopped_ || input_ended_ || c_.closing() || closed_) return;
  stopped_ = true;
  c_.quic().stop_reading(*this, static_cast<uint64_t>(code));
}

void RequestStream::update_priority(http::Priority priority) {
  priority_updated_ = true;
  set_priority(priority);
}

// The backend's opinion (RFC 9218 8): what it names counts in place of what the client said.
void RequestStream::merge_priority(const http::Response& response) {
  const http::Field* field = response.fields.find(http::Name::priority);
  if (field == nullptr) return;
  const http::Priority client{.urgency = static_cast<uint8_t>(precedence().level - 1),
                              .incremental = precedence().incremental};
  set_priority(http::parse_priority(field->value, client));
}

void RequestStream::set_priority(http::Priority priority) {
  if (c_.closing() || closed_) return;
  c_.quic().set_precedence(*this, {.level = static_cast<uint8_t>(1 + priority.urgency),
                                   .incremental = priority.incremental});
}

}  // namespace pqedge::http3
