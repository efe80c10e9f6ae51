// Field names this product knows by number, so that looking one up is an integer compare.
#pragma once

#include <cstdint>
#include <string_view>

namespace pqedge::http {

// One enumerator a known name; `other` is every name that is not listed.
// The list is in names.inc: NAME(enumerator, "lower-case-name", "Canonical-Case").
enum class Name : uint8_t {
  other = 0,
#define NAME(id, lower, canonical) id,
#include "http/names.inc"
#undef NAME
  count_
};

// Any case. Length and a perfect hash decide; at most one comparison.
Name known_name(std::string_view name);
std::string_view lower_name(Name name);      // "content-length"; empty for `other`
std::string_view canonical_name(Name name);  // "Content-Length"; empty for `other`

// A token (RFC 9110 5.6.2): what a field name or a method may be made of.
bool is_token(std::string_view s);
// A field value (RFC 9110 5.5): no CR, LF, NUL, other control bytes but HTAB; no space at its ends.
bool is_field_value(std::string_view s);
// Whether a name has no upper-case letter (RFC 9113 8.2.1).
bool is_lower_token(std::string_view s);

}  // namespace pqedge::http
