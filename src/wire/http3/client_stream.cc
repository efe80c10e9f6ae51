#include "wire/http3/client_stream.h"

#include <algorithm>
#include <utility>

#include "wire/http3/client_connection.h"

namespace pqedge::http3 {
namespace {

constexpr uint64_t code_of(ErrorCode code) { return static_cast<uint64_t>(code); }

}  // namespace

// ---- the request --------------------------------------------------------------------------------

void ClientStream::write_section(std::span<const nghttp3_nv> fields) {
  QpackEncoder& encoder = c_.encoder();
  if (!encoder.encode(id(), fields)) {
    c_.fail(ErrorCode::internal_error, "the QPACK encoder failed");
    return;
  }
  uint8_t header[16];
  const size_t size = encoder.prefix().size() + encoder.section().size();
  c_.quic().write_copy(*this, {header, store_frame_header(header, frame::kHeaders, size)});
  c_.quic().write_copy(*this, encoder.prefix());
  c_.quic().write_copy(*this, encoder.section());
}

void ClientStream::write_data_header(uint64_t length) {
  uint8_t header[16];
  c_.quic().write_copy(*this, {header, store_frame_header(header, frame::kData, length)});
}

void ClientStream::send_request_head(const http::Request& request, bool end) {
  method_ = request.method;
  if (c_.closing() || closed_) return;
  write_section(c_.request_fields().of_head(request));
  if (end) return send_request_end(nullptr);
  if (request.body == http::BodyKind::length) {  // one frame, whatever pieces the body comes in
    request_left_ = request.content_length;
    if (*request_left_ > 0) write_data_header(*request_left_);
  }
}

void ClientStream::send_request_body(Slice bytes) {
  if (c_.closing() || closed_ || request_ended_ || bytes.empty()) return;
  if (!request_left_) {
    write_data_header(bytes.size);
  } else if (bytes.size > *request_left_) {
    return fail(http::Abort::internal_error, "request body longer than its Content-Length");
  } else {
    *request_left_ -= bytes.size;
  }
  c_.quic().write(*this, std::move(bytes));
}

void ClientStream::send_request_end(const http::Fields* trailers) {
  if (request_ended_) return;
  if (request_left_.value_or(0) > 0) {
    return fail(http::Abort::internal_error, "request body shorter than its Content-Length");
  }
  request_ended_ = true;
  if (!c_.closing() && !closed_) {
    if (trailers != nullptr && !trailers->empty()) {
      write_section(c_.request_fields().of_trailers(*trailers));
    }
    c_.quic().write_end(*this);
  }
  if (!response_ended_) return;
  handler_ = nullptr;  // both directions are whole
  if (closed_) c_.ready(*this);
}

void ClientStream::on_send_progress() {
  if (handler_ != nullptr && !request_ended_) handler_->on_request_writable();
}

// ---- from QUIC ----------------------------------------------------------------------------------

void ClientStream::on_data(Bytes bytes, bool end) {
  if (c_.closing()) return;
  if (end) input_ended_ = true;
  if (discarding_) {
    c_.quic().consumed(*this, bytes.size());
    return;
  }
  c_.quic().copies().copy(bytes, [this](Slice s) {
    // Pieces of one turn lie side by side: joined, the handler gets few long slices.
    if (!input_.empty() && input_.back().chunk.get() == s.chunk.get() &&
        input_.back().data + input_.back().size == s.data) {
      input_.extend_back(s.size);
    } else {
      input_.push(std::move(s));
    }
  });
  c_.ready(*this);
}

void ClientStream::on_peer_reset(uint64_t code) {
  input_ended_ = true;
  if (handler_ == nullptr || response_ended_) return;
  if (code == code_of(ErrorCode::request_rejected) && !answered_) {
    refuse_unprocessed("the backend refused the request");
  } else {
    fail(http::Abort::cancelled, "the backend reset the stream");
  }
}

void ClientStream::on_stream_closed(std::optional<uint64_t>) {
  closed_ = true;
  if (handler_ == nullptr) {
    c_.stream_gone(*this);
  } else {
    c_.ready(*this);
  }
}

// ---- the end ------------------------------------------------------------------------------------

void ClientStream::fail(http::Abort why, std::string_view detail) {
  if (abort_ == http::Abort::none) {
    abort_ = why;
    detail_ = detail;
  }
  c_.ready(*this);
  if (!c_.closing()) c_.quic().wake();
}

void ClientStream::refuse_unprocessed(std::string_view detail) {
  if (handler_ == nullptr || answered_ || abort_ != http::Abort::none) return;
  refused_ = true;
  fail(http::Abort::refused, detail);
}

// The connection ends with it: what else came on the stream is not looked at.
bool ClientStream::break_off(ErrorCode code, const char* reason) {
  abort_ = http::Abort::protocol_error;
  detail_ = reason;
  return c_.fail(code, reason);
}

bool ClientStream::charge(Nuisance kind) {
  if (c_.charge(kind)) return true;
  abort_ = http::Abort::protocol_error;
  detail_ = "the backend sent too much that is of no use";
  return false;
}

// The answer is malformed (RFC 9114 4.1.2).
bool ClientStream::refuse(std::string_view detail) {
  c_.note_bad_answer();
  abort_ = http::Abort::protocol_error;
  detail_ = detail;
  return false;
}

void ClientStream::tell_failure() {
  http::ClientStreamHandler& handler = *std::exchange(handler_, nullptr);
  // A kept connection that died before a byte of an answer, or one that took no byte of the
  // request: nothing was processed that an idempotent request could not repeat.
  const bool lost =
      abort_ == http::Abort::connection_lost && !answered_ && (earlier_ > 0 || !anything_sent());
  let_go(abort_ == http::Abort::protocol_error ? ErrorCode::message_error
                                               : ErrorCode::request_cancelled);
  handler.on_response_reset(abort_, refused_ || lost, detail_);
}

void ClientStream::connection_lost(std::string_view detail) {
  deliver_input();  // it came before the end
  if (handler_ == nullptr) return;
  if (abort_ == http::Abort::none) {
    abort_ = http::Abort::connection_lost;
    detail_ = detail;
  }
  tell_failure();
}

void ClientStream::cancel() {
  if (handler_ == nullptr) return;
  handler_ = nullptr;
  let_go(ErrorCode::request_cancelled);
}

void ClientStream::let_go(ErrorCode code) {
  discarding_ = true;
  const size_t held = input_.size() + std::exchange(unconsumed_, 0);
  input_.clear();
  section_.reset();
  head_.reset();
  trailers_.reset();
  if (c_.closing()) return;
  c_.quic().consumed(*this, held);
  if (closed_) return c_.ready(*this);  // nothing else would destroy it
  if (!end_sent()) c_.quic().reset_write(*this, code_of(code));
  if (!input_ended_) c_.quic().stop_reading(*this, code_of(code));
}

}  // namespace pqedge::http3
