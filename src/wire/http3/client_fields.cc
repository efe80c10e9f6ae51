#include "wire/http3/client_fields.h"

#include <optional>

#include "base/text.h"

namespace pqedge::http3 {

std::span<const nghttp3_nv> RequestFields::of_head(const http::Request& request) {
  begin();
  add(":method", request.method_text);
  if (request.method != http::Method::connect) {
    // What a server has authority for, over QUIC, is https (RFC 9114 3.1).
    add(":scheme", "https");
    add(":path", request.target);
  }
  if (!request.authority.empty()) add(":authority", request.authority);
  add_fields(request.fields, false);
  if (request.body == http::BodyKind::length) add_length(request.content_length);
  return fields();
}

ResponseHeadReader::ResponseHeadReader(http::Response& response, const http::Limits& limits)
    : response_(response), budget_(limits.max_response_head, limits.max_fields) {
  response_.version = http::Version::http3;
  response_.status = 0;
  response_.fields.clear();
}

bool ResponseHeadReader::add(const DecodedField& f) {
  if (!budget_.take(f)) return refuse("the response head is too large");
  if (f.name.empty()) return refuse("field name is empty");
  if (f.name[0] == ':') return add_status(f);
  regular_ = true;
  if (const std::string_view what = fault_of(f); !what.empty()) return refuse(what);
  append(response_.fields, *response_.arena, f);
  return true;
}

bool ResponseHeadReader::add_status(const DecodedField& f) {
  if (regular_) return refuse("pseudo-header field after another field");
  if (f.name != ":status") return refuse("unknown pseudo-header field");
  if (response_.status != 0) return refuse(":status given twice");
  const std::optional<uint64_t> status = parse_decimal(f.value);
  if (!status || f.value.size() != 3 || *status < 100) return refuse(":status is malformed");
  response_.status = static_cast<uint16_t>(*status);
  return true;
}

bool ResponseHeadReader::finish() {
  if (response_.status == 0) return refuse(":status is missing");
  // RFC 9114 4.5.
  if (response_.status == 101) return refuse("101 has no place in HTTP/3");
  response_.body = http::BodyKind::stream;
  bool good = true;
  response_.fields.for_each([&](const http::Field& f) {
    switch (f.id) {
      case http::Name::content_length: {
        const std::optional<uint64_t> length = parse_decimal(f.value);
        if (!length || response_.body == http::BodyKind::length) {
          good = refuse("Content-Length is malformed");
          return;
        }
        response_.body = http::BodyKind::length;
        response_.content_length = *length;
        return;
      }
      case http::Name::connection:  // RFC 9114 4.2
      case http::Name::keep_alive:
      case http::Name::proxy_connection:
      case http::Name::transfer_encoding:
      case http::Name::upgrade: good = refuse("a field of the connection"); return;
      default: return;
    }
  });
  return good;
}

}  // namespace pqedge::http3
