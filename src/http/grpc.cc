#include "http/grpc.h"

#include "base/text.h"

namespace pqedge::http {

GrpcKind grpc_kind(std::string_view content_type) {
  constexpr std::string_view kGrpc = "application/grpc";
  if (content_type.size() < kGrpc.size() || !iequals(content_type.substr(0, kGrpc.size()), kGrpc)) {
    return GrpcKind::none;
  }
  std::string_view rest = content_type.substr(kGrpc.size());
  // After the name: nothing, a serialisation, or parameters.
  const auto named = [&](std::string_view suffix) {
    if (rest.size() < suffix.size() || !iequals(rest.substr(0, suffix.size()), suffix))
      return false;
    const std::string_view after = rest.substr(suffix.size());
    return after.empty() || after.front() == '+' || after.front() == ';' || after.front() == ' ';
  };
  if (named("")) return GrpcKind::grpc;
  if (named("-web-text")) return GrpcKind::web_text;
  if (named("-web")) return GrpcKind::web;
  return GrpcKind::none;
}

GrpcKind grpc_kind(const Request& request) {
  if (request.method != Method::post) return GrpcKind::none;
  const GrpcKind kind = grpc_kind(request.fields.get(Name::content_type));
  const bool has_trailers = request.version == Version::http2 || request.version == Version::http3;
  return kind == GrpcKind::grpc && !has_trailers ? GrpcKind::none : kind;
}

std::string_view text(GrpcStatus status) {
  switch (status) {
    case GrpcStatus::ok: return "0";
    case GrpcStatus::cancelled: return "1";
    case GrpcStatus::unknown: return "2";
    case GrpcStatus::deadline_exceeded: return "4";
    case GrpcStatus::permission_denied: return "7";
    case GrpcStatus::resource_exhausted: return "8";
    case GrpcStatus::unimplemented: return "12";
    case GrpcStatus::internal: return "13";
    case GrpcStatus::unavailable: return "14";
    case GrpcStatus::unauthenticated: return "16";
  }
  return "2";
}

GrpcStatus grpc_status_of(uint16_t http_status) {
  switch (http_status) {
    case 400: return GrpcStatus::internal;
    case 401: return GrpcStatus::unauthenticated;
    case 403: return GrpcStatus::permission_denied;
    case 404: return GrpcStatus::unimplemented;
    case 413:
    case 431: return GrpcStatus::resource_exhausted;
    case 429:
    case 502:
    case 503:
    case 504: return GrpcStatus::unavailable;
    default: return GrpcStatus::unknown;
  }
}

std::optional<Nanos> parse_grpc_timeout(std::string_view value) {
  if (value.size() < 2 || value.size() > 9) return std::nullopt;
  const auto count = parse_decimal(value.substr(0, value.size() - 1));
  if (!count) return std::nullopt;
  // Eight digits of hours are more than 64 bits of nanoseconds hold: a client that means "never"
  // must not get a moment.
  const auto times = [n = static_cast<Nanos>(*count)](Nanos unit) {
    return n > kLongestTimeout / unit ? kLongestTimeout : n * unit;
  };
  switch (value.back()) {
    case 'H': return times(3600 * kSecond);
    case 'M': return times(60 * kSecond);
    case 'S': return times(kSecond);
    case 'm': return times(kMillisecond);
    case 'u': return times(1000);
    case 'n': return times(1);
    default: return std::nullopt;
  }
}

std::string_view grpc_message(std::string_view message, Arena& arena) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  const auto plain = [](char c) { return c >= 0x20 && c <= 0x7e && c != '%'; };
  size_t size = 0;
  for (const char c : message) size += plain(c) ? 1 : 3;
  if (size == message.size()) return arena.copy(message);
  char* const begin = static_cast<char*>(arena.allocate(size));
  char* at = begin;
  for (const char c : message) {
    if (plain(c)) {
      *at++ = c;
      continue;
    }
    const auto byte = static_cast<uint8_t>(c);
    *at++ = '%';
    *at++ = kHex[byte >> 4];
    *at++ = kHex[byte & 15];
  }
  return {begin, size};
}

}  // namespace pqedge::http
