#include "wire/http2/response_fields.h"

#include <charconv>

namespace pqedge::http2 {
namespace {

using http::Name;

// RFC 9113 8.2.2, and pseudo-header fields are ours alone.
bool is_connection_specific(Name id) {
  switch (id) {
    case Name::connection:
    case Name::keep_alive:
    case Name::proxy_connection:
    case Name::transfer_encoding:
    case Name::upgrade:
    case Name::te:
    case Name::http2_settings: return true;
    default: return false;
  }
}

}  // namespace

FieldBlock& FieldBlock::of_thread() {
  static thread_local FieldBlock block;
  return block;
}

void FieldBlock::add(std::string_view name, std::string_view value, uint8_t flags) {
  fields_.push_back({const_cast<uint8_t*>(reinterpret_cast<const uint8_t*>(name.data())),
                     const_cast<uint8_t*>(reinterpret_cast<const uint8_t*>(value.data())),
                     name.size(), value.size(), flags});
}

// nghttp2 lower-cases the names that it copies.
void FieldBlock::add_field(const http::Field& field) {
  const uint8_t index = field.sensitive ? NGHTTP2_NV_FLAG_NO_INDEX : NGHTTP2_NV_FLAG_NONE;
  if (field.id == Name::other) {
    add(field.name, field.value, index);
  } else {
    add(http::lower_name(field.id), field.value,
        static_cast<uint8_t>(index | NGHTTP2_NV_FLAG_NO_COPY_NAME));
  }
}

void FieldBlock::add_length(uint64_t length) {
  const char* end = std::to_chars(length_.data(), length_.data() + length_.size(), length).ptr;
  add("content-length", {length_.data(), static_cast<size_t>(end - length_.data())},
      NGHTTP2_NV_FLAG_NO_COPY_NAME);
}

// RFC 9113 8.3.1. The scheme is the target's, as the client meant it, not that of the connection
// to the backend.
std::span<const nghttp2_nv> FieldBlock::request(const http::Request& request) {
  fields_.clear();
  const bool connect = request.method == http::Method::connect;
  add(":method", request.method_text, NGHTTP2_NV_FLAG_NO_COPY_NAME);
  if (!connect) {
    add(":scheme", request.scheme.empty() ? "http" : request.scheme, NGHTTP2_NV_FLAG_NO_COPY_NAME);
  }
  if (!request.authority.empty()) {
    add(":authority", request.authority, NGHTTP2_NV_FLAG_NO_COPY_NAME);
  }
  if (!connect) add(":path", request.target, NGHTTP2_NV_FLAG_NO_COPY_NAME);
  if (request.body == http::BodyKind::length) add_length(request.content_length);
  request.fields.for_each([&](const http::Field& field) {
    // Of TE only this is known in HTTP/2 (RFC 9113 8.2.2); gRPC asks for it.
    const bool te = field.id == Name::te && field.value == "trailers";
    if (!te && is_connection_specific(field.id)) return;
    if (field.id == Name::content_length || field.id == Name::host) return;
    add_field(field);
  });
  return fields_;
}

std::span<const nghttp2_nv> FieldBlock::response(const http::Response& response) {
  fields_.clear();
  const uint16_t status = response.status;
  status_ = {static_cast<char>('0' + status / 100 % 10), static_cast<char>('0' + status / 10 % 10),
             static_cast<char>('0' + status % 10), '\0'};
  add(":status", {status_.data(), 3}, NGHTTP2_NV_FLAG_NO_COPY_NAME);

  // The length of a body that follows is ours to say. Without one the field tells what GET would
  // have had (HEAD, 304), and it has no place in 1xx and 204 (RFC 9110 8.6).
  const bool may = status >= 200 && status != 204;
  const bool ours = may && response.body == http::BodyKind::length;
  const bool theirs = may && response.body == http::BodyKind::none;
  if (ours) add_length(response.content_length);
  response.fields.for_each([&](const http::Field& field) {
    if (is_connection_specific(field.id)) return;
    if (field.id == Name::content_length && !theirs) return;
    add_field(field);
  });
  return fields_;
}

std::span<const nghttp2_nv> FieldBlock::trailers(const http::Fields& fields) {
  fields_.clear();
  fields.for_each([&](const http::Field& field) {
    if (is_connection_specific(field.id) || field.id == Name::content_length) return;
    add_field(field);
  });
  return fields_;
}

}  // namespace pqedge::http2
