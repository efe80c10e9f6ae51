#include "wire/http3/response_fields.h"

#include <charconv>

namespace pqedge::http3 {

std::span<const nghttp3_nv> ResponseFields::of_head(const http::Response& response) {
  begin();
  const char* const status_end =
      std::to_chars(status_.data(), status_.data() + status_.size(), response.status).ptr;
  add(":status", {status_.data(), status_end});
  const bool may_have_length = response.status >= 200 && response.status != 204;
  // An answer to HEAD, or a 304, may tell the length that the body would have (RFC 9110 8.6).
  add_fields(response.fields, may_have_length && response.body == http::BodyKind::none);
  if (may_have_length && response.body == http::BodyKind::length) {
    add_length(response.content_length);
  }
  return fields();
}

}  // namespace pqedge::http3
