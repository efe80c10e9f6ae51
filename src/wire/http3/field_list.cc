#include "wire/http3/field_list.h"

#include <charconv>

#include "base/text.h"

namespace pqedge::http3 {
namespace {

// What HTTP/3 has no place for (RFC 9114 4.2), and a length that is written anew.
bool is_left_out(const http::Field& f, bool keep_length) {
  switch (f.id) {
    case http::Name::connection:
    case http::Name::host:  // :authority says it
    case http::Name::keep_alive:
    case http::Name::proxy_connection:
    case http::Name::transfer_encoding:
    case http::Name::upgrade: return true;
    case http::Name::content_length: return !keep_length;
    default: return false;
  }
}

}  // namespace

void FieldList::add(std::string_view name, std::string_view value, uint8_t flags) {
  fields_.push_back({.name = reinterpret_cast<const uint8_t*>(name.data()),
                     .value = reinterpret_cast<const uint8_t*>(value.data()),
                     .namelen = name.size(),
                     .valuelen = value.size(),
                     .flags = flags});
}

void FieldList::add_fields(const http::Fields& fields, bool keep_length) {
  size_t unknown = 0;
  fields.for_each([&](const http::Field& f) {
    if (f.id == http::Name::other) unknown += f.name.size();
  });
  lowered_.clear();
  lowered_.reserve(unknown);  // it must not move: the list points into it
  fields.for_each([&](const http::Field& f) {
    if (is_left_out(f, keep_length)) return;
    std::string_view name = http::lower_name(f.id);
    if (f.id == http::Name::other) {
      const size_t at = lowered_.size();
      for (const char c : f.name) lowered_.push_back(ascii_lower(c));
      name = std::string_view(lowered_).substr(at);
    }
    add(name, f.value, f.sensitive ? NGHTTP3_NV_FLAG_NEVER_INDEX : NGHTTP3_NV_FLAG_NONE);
  });
}

void FieldList::add_length(uint64_t length) {
  const char* const end =
      std::to_chars(length_.data(), length_.data() + length_.size(), length).ptr;
  add("content-length", {length_.data(), end});
}

std::span<const nghttp3_nv> FieldList::of_trailers(const http::Fields& trailers) {
  begin();
  add_fields(trailers, false);
  return fields_;
}

}  // namespace pqedge::http3
