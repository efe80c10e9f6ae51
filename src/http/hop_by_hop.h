// What holds for one connection only (RFC 9110 7.6.1). Of this module's own use: see rules.h.
#pragma once

#include "http/fields.h"

namespace pqedge::http {

// The longest value that all Connection fields of a head may have together, so that looking up each
// of their options in each field stays cheap. Real ones have 30 bytes.
inline constexpr size_t kMaxConnectionOptions = 1024;

// Fields of one hop by their very name; Connection itself included. TE and framing are not.
constexpr bool is_hop_by_hop(Name id) {
  switch (id) {
    case Name::connection:
    case Name::http2_settings:
    case Name::keep_alive:
    case Name::proxy_authenticate:
    case Name::proxy_authorization:
    case Name::proxy_connection:
    case Name::transfer_encoding:
    case Name::upgrade: return true;
    default: return false;
  }
}

// Removes the fields that Connection names, but TE (see keep_trailers).
void remove_connection_named(Fields& fields);

// Leaves of a TE field only "trailers" (RFC 9110 10.1.4), or nothing.
void keep_trailers(Field& te);

}  // namespace pqedge::http
