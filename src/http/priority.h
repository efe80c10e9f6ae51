// Priorities of requests (RFC 9218).
#pragma once

#include <cstdint>
#include <string_view>

namespace pqedge::http {

struct Priority {
  uint8_t urgency = 3;  // 0 (first) to 7
  bool incremental = false;
  friend bool operator==(const Priority&, const Priority&) = default;
};

// Reads a Priority field value: a dictionary (RFC 8941 3.2) of which `u` and `i` are known. What is
// missing, unknown or has another type leaves what `base` says; a value that is not a dictionary at
// all counts as empty (RFC 9218 4, RFC 8941 4.2). The base of a request's is the default; that of an
// answer's is the request's (RFC 9218 8).
Priority parse_priority(std::string_view value, Priority base = {});

}  // namespace pqedge::http
