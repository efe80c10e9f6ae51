// gRPC calls (P13): what this proxy has to say comes as a gRPC status, an answer that breaks off
// ends with one, the call's own deadline holds, and clients of gRPC-Web are understood.
#include "edge/grpc.h"

#include "base/base64.h"
#include "edge/exchange.h"
#include "edge/listener_view.h"
#include "edge/worker.h"

namespace pqedge::edge {

// The head is ready for the backend. False: it was answered.
bool Exchange::begin_grpc() {
  const http::GrpcKind kind = http::grpc_kind(*request_);
  if (kind == http::GrpcKind::none) return true;
  // Servers that take gRPC-Web themselves speak HTTP/1.1; one of gRPC does not.
  const bool web = kind != http::GrpcKind::grpc;
  if (web && pool().settings().protocol == upstream::Protocol::http1) return true;
  grpc_ = std::make_unique<GrpcCall>(kind);
  http::Fields& fields = request_->fields;
  if (const http::Field* f = fields.find("grpc-timeout"); f != nullptr) {
    grpc_->timeout = http::parse_grpc_timeout(f->value).value_or(0);
  }
  if (!web) return true;
  fields.set(http::Name::content_type,
             arena_.copy(http::to_grpc_type(fields.get(http::Name::content_type))));
  fields.set(http::Name::te, "trailers");
  if (!grpc_->as_text()) return true;
  if (request_->body == http::BodyKind::length) request_->body = http::BodyKind::stream;
  // What came while a step waited.
  BodyStore decoded;
  while (!pending_.empty()) {
    Slice bytes = pending_.pop();
    if (!decode_grpc(bytes)) return false;
    if (!bytes.empty()) decoded.push(std::move(bytes));
  }
  while (!decoded.empty()) pending_.push(decoded.pop());
  return true;
}

bool Exchange::decodes_grpc() const { return grpc_ != nullptr && grpc_->as_text(); }

// From base64. False: it was none, which was answered.
bool Exchange::decode_grpc(Slice& bytes) {
  const size_t characters = grpc_->text.begun() + bytes.size;
  const auto plain = grpc_->text.decode(as_text(bytes.bytes()));
  if (!plain) {
    drop_attempts();
    if (response_started_) {
      fail_after_start("the body of gRPC-Web is not base64", true);
    } else {
      answer(400, "the body of gRPC-Web is not base64");
    }
    return false;
  }
  // Of whole groups; the credit of what they decoded to is given when that was passed on.
  const size_t whole = characters - grpc_->text.begun();
  if (whole > plain->size()) stream_->consumed(whole - plain->size());
  bytes = {};
  // A slice has at most a chunk, and this is shorter.
  copy_to_slices(as_bytes(*plain), [&](Slice s) { bytes = std::move(s); });
  return true;
}

// An answer of our own to a call: an HTTP status would tell a gRPC client less. False: it is none.
bool Exchange::answer_grpc(uint16_t status, std::string_view reason) {
  const http::GrpcKind kind = grpc_ != nullptr ? grpc_->kind : http::grpc_kind(*request_);
  if (kind == http::GrpcKind::none) return false;
  if (grpc_ == nullptr && kind != http::GrpcKind::grpc) return false;
  drop_attempts();
  if (stream_ == nullptr) return true;
  reason_ = reason;
  status_ = 200;
  response_started_ = response_done_ = true;

  response_.emplace(arena_);
  http::Response& r = *response_;
  r.version = request_->version;
  r.status = status_;
  std::string_view type = "application/grpc";
  if (kind != http::GrpcKind::grpc) {
    type = arena_.copy(
        http::to_grpc_web_type(request_->fields.get(http::Name::content_type), grpc_->as_text()));
  }
  r.fields.add(http::Name::date, arena_.copy(http::http_date()));
  r.fields.add(http::Name::content_type, type);
  add_grpc_status(r.fields,
                  grpc_ != nullptr && grpc_->expired ? http::GrpcStatus::deadline_exceeded
                                                     : http::grpc_status_of(status),
                  reason);
  if (!identity_.request_id.empty()) {
    r.fields.add(http::Name::x_request_id, identity_.request_id);
  }
  if (plan_->shape != nullptr) shape_response(r);
  if (on_canary_ && status >= 500) {  // it was counted by the status of HTTP
    plan_->shape->canary->report_broken_off(worker_.loop().now());
  }
  stop_request_body();
  if (stream_ != nullptr) stream_->send_head(r, true);
  return true;
}

void Exchange::add_grpc_status(http::Fields& fields, http::GrpcStatus status,
                               std::string_view reason) {
  fields.add(http::Name::grpc_status, http::text(status));
  fields.push({.name = "grpc-message", .value = http::grpc_message(reason, arena_)});
}

// The backend's head, ready for the client.
void Exchange::begin_grpc_answer(http::Response& response, bool end) {
  grpc_->answered =
      http::grpc_kind(response.fields.get(http::Name::content_type)) == http::GrpcKind::grpc;
  if (!grpc_->answered || !grpc_->translates()) return;
  response.fields.set(http::Name::content_type,
                      arena_.copy(http::to_grpc_web_type(
                          response.fields.get(http::Name::content_type), grpc_->as_text())));
  response.fields.remove(http::Name::trailer);
  if (end) return;  // its status is in the head, and there stays
  response.fields.remove(http::Name::content_length);
  response.body = http::BodyKind::stream;
}

void Exchange::send_answer_body(Slice bytes) {
  if (grpc_ == nullptr || !grpc_->answered || !grpc_->as_text()) {
    return stream_->send_body(std::move(bytes));
  }
  copy_to_slices(as_bytes(base64(bytes.bytes())), [&](Slice s) {
    if (stream_ != nullptr) stream_->send_body(std::move(s));
  });
}

void Exchange::send_answer_end(const http::Fields& trailers) {
  if (grpc_ == nullptr || !grpc_->answered || !grpc_->translates()) {
    return stream_->send_end(&trailers);
  }
  std::string frame = http::grpc_web_trailers(trailers);
  if (grpc_->as_text()) frame = base64(frame);
  copy_to_slices(as_bytes(frame), [&](Slice s) {
    if (stream_ != nullptr) stream_->send_body(std::move(s));
  });
  if (stream_ != nullptr) stream_->send_end(nullptr);
}

// An answer that has begun breaks off: its end says so. False: it cannot.
bool Exchange::end_grpc(std::string_view reason) {
  if (!grpc_->answered || response_done_) return false;
  if (attempt_->response().body != http::BodyKind::stream) return false;
  reason_ = reason;
  response_done_ = true;
  drop_attempts();
  http::Fields trailers(arena_);
  add_grpc_status(
      trailers,
      grpc_->expired ? http::GrpcStatus::deadline_exceeded : http::GrpcStatus::unavailable, reason);
  stop_request_body();
  if (stream_ != nullptr) send_answer_end(trailers);
  return true;
}

}  // namespace pqedge::edge
