#include "wire/http1/target.h"

#include "base/text.h"

namespace pqedge::http1 {
namespace {

using http::Method;
using http::Refusal;

std::unexpected<Refusal> refuse(std::string_view reason) {
  return std::unexpected(Refusal{400, reason});
}

// absolute-form (RFC 9112 3.2.2). What the authority is made of is for http::canonicalise().
std::expected<void, Refusal> split_absolute(http::Request& request) {
  const std::string_view target = request.target;
  const size_t colon = target.find("://");
  if (colon == std::string_view::npos) return refuse("request target of no known form");
  const std::string_view scheme = target.substr(0, colon);
  if (!iequals(scheme, "http") && !iequals(scheme, "https")) {
    return refuse("request target with an unknown scheme");
  }
  // Whether the connection may serve that scheme is for who routes it (RFC 9110 7.4).
  request.scheme = iequals(scheme, "https") ? "https" : "http";
  const std::string_view rest = target.substr(colon + 3);
  const size_t end = rest.find_first_of("/?");
  request.authority = rest.substr(0, end);
  if (request.authority.empty()) return refuse("request target without a host");
  if (end == std::string_view::npos) {
    // An absolute target without path and query stands for "*" in OPTIONS (RFC 9112 3.2.4).
    request.target = request.method == Method::options ? "*" : "/";
  } else if (rest[end] == '?') {
    request.target = request.arena->concat("/", rest.substr(end));
  } else {
    request.target = rest.substr(end);
  }
  return {};
}

// authority-form (RFC 9112 3.2.3): the port is not optional.
std::expected<void, Refusal> split_authority(http::Request& request) {
  const std::string_view target = request.target;
  const size_t colon = target.rfind(':');
  const auto port =
      colon == std::string_view::npos ? std::nullopt : parse_decimal(target.substr(colon + 1));
  if (!port || *port > UINT16_MAX || colon == 0 ||
      target.find_first_of("/?@") != std::string_view::npos) {
    return refuse("CONNECT without host and port");
  }
  request.authority = target;
  request.target = {};
  return {};
}

}  // namespace

std::expected<void, Refusal> split_target(http::Request& request) {
  if (request.method == Method::connect) return split_authority(request);
  if (request.target.front() == '/') return {};
  if (request.target != "*") return split_absolute(request);
  if (request.method != Method::options) return refuse("\"*\" with a method other than OPTIONS");
  return {};
}

}  // namespace pqedge::http1
