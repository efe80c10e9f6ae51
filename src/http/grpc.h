// gRPC over HTTP/2 and HTTP/3 (github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md), as far as a
// proxy has to know it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/arena.h"
#include "base/time.h"
#include "http/message.h"

namespace pqedge::http {

enum class GrpcKind : uint8_t {
  none,
  grpc,      // application/grpc[+proto]: trailers, HTTP/2 or 3
  web,       // application/grpc-web[+proto]: trailers in the body
  web_text,  // application/grpc-web-text[+proto]: the same, in base64
};
GrpcKind grpc_kind(std::string_view content_type);
// Of a POST; others are no calls.
GrpcKind grpc_kind(const Request& request);

enum class GrpcStatus : uint8_t {
  ok = 0,
  cancelled = 1,
  unknown = 2,
  deadline_exceeded = 4,
  permission_denied = 7,
  resource_exhausted = 8,
  unimplemented = 12,
  internal = 13,
  unavailable = 14,
  unauthenticated = 16,
};
std::string_view text(GrpcStatus status);  // the number
// What an answer of ours with this HTTP status is to a gRPC client (http-grpc-status-mapping.md,
// and resource_exhausted for what is too large).
GrpcStatus grpc_status_of(uint16_t http_status);

// "100m": one to eight digits and a unit. What is longer than a century is a century.
inline constexpr Nanos kLongestTimeout = Nanos{100} * 365 * 24 * 3600 * kSecond;
std::optional<Nanos> parse_grpc_timeout(std::string_view value);

// grpc-message: percent-encoded where it is not printable ASCII.
std::string_view grpc_message(std::string_view message, Arena& arena);

}  // namespace pqedge::http
