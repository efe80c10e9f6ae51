// One canonical form of the request target for every decision (R2); the bytes that came are kept.
#pragma once

#include <cstdint>
#include <expected>
#include <string_view>

#include "base/arena.h"
#include "http/message.h"

namespace pqedge::http {

enum class EncodedSlash : uint8_t {
  keep,
  refuse
};  // "%2F": stays "%2F" in the canonical path, or 400

// A refusal: the status and a static text for the log.
struct Refusal {
  uint16_t status = 400;
  std::string_view reason;
};

// Fills request.host, .port, .path and .query from .authority and .target.
//  - unreserved and other octets percent-encoded needlessly are decoded, hex digits upper-cased,
//    what may not stand raw in a path is kept encoded; empty segments ("//") are merged;
//  - a dot segment in any spelling ("..", "%2e%2e", ".%2E", with ";params", "..\\", "%5c..", double
//    encoding of the same) is refused, as are NUL, control bytes and malformed percent-encoding;
//  - `authority`: reg-name, IPv4 or IPv6 literal with an optional port (RFC 3986 3.2); userinfo,
//    an empty host and other bytes are refused. The host is lower-cased, its trailing dot dropped.
std::expected<void, Refusal> canonicalise(Request& request);

// The path alone, for tests, the fuzzer and `route` settings. The result is in the arena or a view
// of the input.
std::expected<std::string_view, Refusal> canonical_path(std::string_view raw, Arena& arena);

// What is behind the first `size` bytes of the canonical form of `raw`, as it came. `size` must not
// end within a percent-encoding.
std::string_view raw_behind(std::string_view raw, size_t size);

// Splits "host:port"; lower-cases into the arena. `port` 0 when absent.
struct Authority {
  std::string_view host;
  uint16_t port = 0;
};
std::expected<Authority, Refusal> parse_authority(std::string_view text, Arena& arena);

}  // namespace pqedge::http
