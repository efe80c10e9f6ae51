// How much of a request software takes by default, as its makers write it: data with sources.
// pqcost limits shows what the installed programs really do.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace pqedge::measure {

enum class Counted : uint8_t {
  field_line,    // "name: value" with its line end
  bare_line,     // "name: value" without
  whole_head,    // request line, fields, line ends
  names_values,  // names, values and target, nothing else
  field_list,    // names and values, 32 bytes a field added (RFC 9113 6.5.2)
  cookie_pair,   // name and value, without "="
  request_line,  // method, target, version, line end
  target,        // path and query
  value,         // the token alone
};
std::string_view counted_text(Counted counted);

struct DocumentedLimit {
  std::string_view name;
  uint64_t bytes;
  Counted counted;
  std::string_view answer;
  std::string_view source;
};

std::span<const DocumentedLimit> documented_limits();

// What a token of `token` characters takes of a limit, in the request of request_fields.h: as a
// bearer token (RFC 6750 2.1), as a cookie named "token", or as a query parameter (RFC 6750 2.3).
uint64_t bytes_against(Counted counted, uint64_t token);

}  // namespace pqedge::measure
