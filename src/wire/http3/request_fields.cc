#include "wire/http3/request_fields.h"

#include <algorithm>

#include "base/text.h"
#include "http/rules.h"

namespace pqedge::http3 {
namespace {

constexpr uint8_t kMethod = 1;
constexpr uint8_t kScheme = 2;
constexpr uint8_t kAuthority = 4;
constexpr uint8_t kPath = 8;
constexpr uint8_t kProtocol = 16;

}  // namespace

RequestHeadReader::RequestHeadReader(http::Request& request, const http::Limits& limits)
    : request_(request), limits_(limits), budget_(limits.max_head, limits.max_fields) {
  request_.version = http::Version::http3;
}

bool RequestHeadReader::refuse(uint16_t status, std::string_view reason) {
  refusal_ = {.status = status, .reason = reason};
  return false;
}

bool RequestHeadReader::add(const DecodedField& f) {
  if (!budget_.take(f)) return refuse(431, "header fields too large");
  if (f.name.empty()) return refuse(400, "field name is empty");
  if (f.name[0] == ':') return add_pseudo(f);
  regular_ = true;
  if (const std::string_view what = fault_of(f); !what.empty()) return refuse(400, what);
  append(request_.fields, *request_.arena, f);
  return true;
}

bool RequestHeadReader::set_once(std::string_view& member, uint8_t bit, const DecodedField& f) {
  if ((seen_ & bit) != 0) return refuse(400, "pseudo-header field given twice");
  if (!f.value_is_static && !http::is_field_value(f.value)) {
    return refuse(400, "pseudo-header field is malformed");
  }
  seen_ |= bit;
  member = kept(*request_.arena, f.value, f.value_is_static);
  return true;
}

bool RequestHeadReader::add_pseudo(const DecodedField& f) {
  if (regular_) return refuse(400, "pseudo-header field after another field");
  if (f.name == ":method") return set_once(request_.method_text, kMethod, f);
  if (f.name == ":scheme") return set_once(request_.scheme, kScheme, f);
  if (f.name == ":authority") return set_once(request_.authority, kAuthority, f);
  if (f.name == ":path") {
    if (f.value.size() > limits_.max_target) return refuse(414, "request target too long");
    return set_once(request_.target, kPath, f);
  }
  if (f.name == ":protocol" && limits_.connect_protocol) {
    return set_once(request_.upgrade, kProtocol, f);
  }
  // Also :protocol where SETTINGS_ENABLE_CONNECT_PROTOCOL was not sent (RFC 9220 3).
  return refuse(400, "unknown pseudo-header field");
}

bool RequestHeadReader::finish() {
  if (!finish_pseudo() || !finish_length()) return false;
  join_cookies();
  if (auto checked = http::check_request(request_); !checked) {
    return refuse(checked.error().status, checked.error().reason);
  }
  return true;
}

// RFC 9114 4.3.1 and 4.4.
bool RequestHeadReader::finish_pseudo() {
  if ((seen_ & kMethod) == 0) return refuse(400, ":method is missing");
  if (!http::is_token(request_.method_text)) return refuse(400, ":method is malformed");
  request_.method = http::parse_method(request_.method_text);
  if ((seen_ & kProtocol) != 0 && !take_upgrade()) return false;
  if (request_.method == http::Method::connect) {
    if ((seen_ & (kScheme | kPath)) != 0) return refuse(400, "CONNECT with :scheme or :path");
    if ((seen_ & kAuthority) == 0) return refuse(400, "CONNECT without :authority");
    request_.scheme = "https";
    sound_ = true;
    return true;
  }
  if ((seen_ & kScheme) == 0) return refuse(400, ":scheme is missing");
  if ((seen_ & kPath) == 0) return refuse(400, ":path is missing");
  sound_ = true;
  // What this server has authority for, over QUIC, is https (RFC 9114 3.1).
  if (!iequals(request_.scheme, "https")) return refuse(400, ":scheme is not https");
  request_.scheme = "https";
  const bool asterisk = request_.target == "*" && request_.method == http::Method::options;
  if (!asterisk && !request_.target.starts_with('/')) return refuse(400, ":path is malformed");
  return true;
}

// RFC 9220 3, RFC 8441 4, 5: an extended CONNECT has what other requests have, and stands for a GET
// with Upgrade.
bool RequestHeadReader::take_upgrade() {
  if (request_.method != http::Method::connect) return refuse(400, ":protocol without CONNECT");
  if (!http::is_token(request_.upgrade)) return refuse(400, ":protocol is malformed");
  if ((seen_ & kAuthority) == 0) return refuse(400, "CONNECT without :authority");
  request_.upgrade = request_.arena->copy(to_lower(request_.upgrade));
  request_.method = http::Method::get;
  request_.method_text = "GET";
  return true;
}

bool RequestHeadReader::finish_length() {
  // What follows is no body, and has no length (RFC 9110 9.3.6).
  if (request_.method == http::Method::connect || !request_.upgrade.empty()) {
    request_.body = http::BodyKind::stream;
    return true;
  }
  bool known = false;
  bool good = true;
  request_.fields.for_each([&](const http::Field& f) {
    if (f.id != http::Name::content_length) return;
    const std::optional<uint64_t> length = parse_decimal(f.value);
    if (!length || (known && *length != request_.content_length)) {
      good = false;
      return;
    }
    known = true;
    request_.content_length = *length;
  });
  if (!good) return refuse(400, "Content-Length is malformed");
  request_.body = known ? http::BodyKind::length : http::BodyKind::stream;
  return true;
}

// Clients split cookies for the sake of the dynamic table; no one behind us expects that
// (RFC 9114 4.2.1).
void RequestHeadReader::join_cookies() {
  size_t count = 0;
  size_t size = 0;
  request_.fields.for_each([&](const http::Field& f) {
    if (f.id != http::Name::cookie) return;
    ++count;
    size += f.value.size() + 2;
  });
  if (count < 2) return;
  char* joined = static_cast<char*>(request_.arena->allocate(size));
  char* at = joined;
  http::Field* first = nullptr;
  request_.fields.for_each_mutable([&](http::Field& f) {
    if (f.id != http::Name::cookie) return;
    if (first == nullptr) {
      first = &f;
    } else {
      *at++ = ';';
      *at++ = ' ';
      f.removed = true;
    }
    at = std::ranges::copy(f.value, at).out;
  });
  first->value = {joined, static_cast<size_t>(at - joined)};
}

bool TrailerReader::add(const DecodedField& f) {
  const auto refuse = [this](uint16_t status, std::string_view reason) {
    refusal_ = {.status = status, .reason = reason};
    return false;
  };
  if (!budget_.take(f)) return refuse(431, "trailer fields too large");
  if (f.name.empty()) return refuse(400, "field name is empty");
  if (f.name[0] == ':') return refuse(400, "pseudo-header field in trailers");
  if (const std::string_view what = fault_of(f); !what.empty()) return refuse(400, what);
  append(trailers_, trailers_.arena(), f);
  return true;
}

}  // namespace pqedge::http3
