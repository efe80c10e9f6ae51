#include "wire/http2/request_reader.h"

#include <cstring>

#include "base/text.h"
#include "http/rules.h"
#include "wire/http2/counters.h"

namespace pqedge::http2 {

void RequestReader::begin(uint32_t max_size, uint32_t max_fields) {
  status_ = 0;
  reason_ = {};
  max_size_ = max_size;
  max_fields_ = max_fields;
  size_ = 0;
  fields_ = 0;
  cookies_ = 0;
}

void RequestReader::begin_head(const http::Limits& limits) {
  begin(limits.max_head, limits.max_fields);
  trailers_ = false;
  max_target_ = limits.max_target;
  max_body_ = limits.max_body;
}

void RequestReader::begin_trailers(const http::Limits& limits) {
  begin(limits.max_trailers, limits.max_fields);
  trailers_ = true;
}

void RequestReader::refuse(uint16_t status, std::string_view reason) {
  if (status_ != 0) return;
  status_ = status;
  reason_ = reason;
}

// A reference to the dynamic table takes one byte on the wire, so neither the number of encoded
// bytes nor the sum of names and values bounds the work: each field counts with its overhead.
bool RequestReader::count(size_t size, bool pseudo) {
  size_ += size + kFieldOverhead;
  if (!pseudo) ++fields_;
  if (size_ <= max_size_ && fields_ <= max_fields_) return true;
  refuse(431, size_ > max_size_ ? "field section too large" : "too many fields");
  return size_ <= uint64_t{kBombFactor} * max_size_ &&
         fields_ <= uint64_t{kBombFactor} * max_fields_;
}

bool RequestReader::field(http::Request& request, std::string_view name, std::string_view value,
                          bool sensitive) {
  const bool pseudo = !name.empty() && name.front() == ':';
  if (!count(name.size() + value.size(), pseudo)) return false;
  if (status_ != 0) return true;
  if (pseudo) {
    pseudo_field(request, name, value);
  } else {
    regular_field(request, name, value, sensitive);
  }
  return true;
}

void RequestReader::pseudo_field(http::Request& request, std::string_view name,
                                 std::string_view value) {
  if (name == ":method") {
    request.method = http::parse_method(value);
    request.method_text = request.arena->copy(value);
  } else if (name == ":path") {
    if (value.size() > max_target_) return refuse(414, "request target too long");
    request.target = request.arena->copy(value);
  } else if (name == ":authority") {
    request.authority = request.arena->copy(value);
  } else if (name == ":scheme") {
    request.scheme = value == "https" ? "https" : request.arena->copy(value);
  } else if (name == ":protocol") {
    request.upgrade = request.arena->copy(to_lower(value));
  }
  // nghttp2 refuses any other, and :protocol as long as it is not offered (RFC 8441 3).
}

void RequestReader::regular_field(http::Request& request, std::string_view name,
                                  std::string_view value, bool sensitive) {
  const http::Name id = http::known_name(name);
  if (id == http::Name::cookie) ++cookies_;
  http::Fields& fields = trailers_ ? request.trailers : request.fields;
  fields.push({.name = id == http::Name::other ? request.arena->copy(name) : http::lower_name(id),
               .value = request.arena->copy(value),
               .id = id,
               .sensitive = sensitive});
}

// RFC 9113 8.2.3: crumbs become one field again before the request leaves HTTP/2.
void RequestReader::join_cookies(http::Request& request) const {
  size_t size = 0;
  http::Field* first = nullptr;
  request.fields.for_each_mutable([&](http::Field& f) {
    if (f.id != http::Name::cookie) return;
    if (first == nullptr) first = &f;
    size += f.value.size() + 2;
  });
  char* joined = static_cast<char*>(request.arena->allocate(size));
  char* at = joined;
  request.fields.for_each_mutable([&](http::Field& f) {
    if (f.id != http::Name::cookie) return;
    if (at != joined) {
      std::memcpy(at, "; ", 2);
      at += 2;
    }
    if (!f.value.empty()) std::memcpy(at, f.value.data(), f.value.size());
    at += f.value.size();
    first->sensitive |= f.sensitive;
    f.removed = &f != first;
  });
  first->value = {joined, static_cast<size_t>(at - joined)};
}

// nghttp2 has checked that content-length is a number, comes once, and agrees with END_STREAM; and
// it resets the stream when the DATA does not add up to it (RFC 9113 8.1.1).
void RequestReader::set_body(http::Request& request, bool end) {
  request.body = http::BodyKind::none;
  request.content_length = 0;
  if (end) return;
  request.body = http::BodyKind::stream;
  const http::Field* length = request.fields.find(http::Name::content_length);
  if (length == nullptr || request.method == http::Method::connect) return;
  const auto value = parse_decimal(length->value);
  if (!value) return refuse(400, "malformed content-length");
  request.body = http::BodyKind::length;
  request.content_length = *value;
  if (*value > max_body_) refuse(413, "request body too large");
}

// RFC 8441 4, 5: an extended CONNECT has scheme, path and authority (nghttp2 has seen to it), and
// stands for a GET with Upgrade.
void RequestReader::take_upgrade(http::Request& request) {
  if (!http::is_token(request.upgrade)) return refuse(400, "malformed :protocol");
  request.method = http::Method::get;
  request.method_text = "GET";
}

bool RequestReader::end_head(http::Request& request, bool end) {
  request.version = http::Version::http2;
  if (status_ == 0 && cookies_ > 1) join_cookies(request);
  if (status_ == 0) set_body(request, end);
  if (status_ == 0 && !request.upgrade.empty()) take_upgrade(request);
  if (status_ == 0) {
    // RFC 9113 8.3.1: ":path" is not empty, begins with "/", or is "*" for OPTIONS; CONNECT has
    // none (8.5).
    const bool connect = request.method == http::Method::connect;
    const bool asterisk = request.method == http::Method::options && request.target == "*";
    if (!connect && !asterisk && !request.target.starts_with('/')) {
      refuse(400, "malformed :path");
    } else if (!http::is_token(request.method_text)) {
      refuse(400, "malformed :method");
    }
  }
  if (status_ == 0) {
    if (const auto checked = http::check_request(request); !checked) {
      refuse(checked.error().status, checked.error().reason);
    }
  }
  return status_ == 0;
}

}  // namespace pqedge::http2
