#include "wire/http2/response_reader.h"

#include "base/text.h"

namespace pqedge::http2 {

void ResponseReader::begin(uint32_t max_size, uint32_t max_fields) {
  max_size_ = max_size;
  max_fields_ = max_fields;
  size_ = 0;
  fields_ = 0;
  reason_ = {};
}

void ResponseReader::begin_head(const http::Limits& limits, http::Response& response) {
  begin(limits.max_response_head, limits.max_fields);
  trailers_ = false;
  response.fields.clear();
  response.status = 0;
}

void ResponseReader::begin_trailers(const http::Limits& limits, http::Response& response) {
  begin(limits.max_trailers, limits.max_fields);
  trailers_ = true;
  response.trailers.clear();
}

// A reference to the dynamic table takes one byte on the wire: each field counts with its overhead.
void ResponseReader::field(http::Response& response, std::string_view name, std::string_view value,
                           bool sensitive) {
  size_ += name.size() + value.size() + kFieldOverhead;
  if (size_ > max_size_) return refuse("the answer's field section is too large");
  if (!name.empty() && name.front() == ':') {
    if (name == ":status") {
      response.status = static_cast<uint16_t>(parse_decimal(value).value_or(0));
    }
    return;  // nghttp2 refuses any other
  }
  if (++fields_ > max_fields_) return refuse("the answer has too many fields");
  const http::Name id = http::known_name(name);
  http::Fields& fields = trailers_ ? response.trailers : response.fields;
  fields.push(
      {.name = id == http::Name::other ? response.arena->copy(name) : http::canonical_name(id),
       .value = response.arena->copy(value),
       .id = id,
       .sensitive = sensitive});
}

// nghttp2 has checked that content-length is a number and comes once, and resets the stream when
// the DATA does not add up to it (RFC 9113 8.1.1).
bool ResponseReader::end_head(http::Response& response, http::Method method, bool end) {
  response.version = http::Version::http2;
  response.body = http::BodyKind::none;
  response.content_length = 0;
  if (!reason_.empty()) return false;
  if (response.status < 100 || response.status > 599) {
    refuse("status out of range");
    return false;
  }
  if (end || !http::response_has_body(method, response.status)) return true;
  response.body = http::BodyKind::stream;
  const http::Field* length = response.fields.find(http::Name::content_length);
  if (length == nullptr) return true;
  const auto value = parse_decimal(length->value);
  if (!value) {
    refuse("malformed content-length");
    return false;
  }
  response.body = http::BodyKind::length;
  response.content_length = *value;
  return true;
}

}  // namespace pqedge::http2
