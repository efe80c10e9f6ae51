// What a request must be before anything is decided about it.
#include <charconv>

#include "base/text.h"
#include "http/hop_by_hop.h"
#include "http/rules.h"

namespace pqedge::http {
namespace {

// Passes through edges of our name after which a request goes round in circles.
constexpr size_t kMaxPasses = 4;

std::unexpected<Refusal> refuse(std::string_view reason, uint16_t status = 400) {
  return std::unexpected(Refusal{status, reason});
}

bool is_multiplexed(Version v) { return v == Version::http2 || v == Version::http3; }

// What the checks look at, found in one pass.
struct RequestFraming {
  const Field* host = nullptr;
  const Field* content_length = nullptr;
  const Field* max_forwards = nullptr;
  size_t connection_size = 0;
  bool many_hosts = false;
  bool many_lengths = false;
  bool connection_specific = false;  // RFC 9113 8.2.2, RFC 9114 4.2
  bool te_not_trailers = false;
  bool expects_continue = false;
  bool expects_other = false;
};

void note_expect(std::string_view value, RequestFraming& framing) {
  for_each_member(value, [&](std::string_view member) {
    if (iequals(member, "100-continue")) {
      framing.expects_continue = true;
    } else {
      framing.expects_other = true;
    }
  });
}

RequestFraming look_through(const Fields& fields) {
  RequestFraming framing;
  fields.for_each([&](const Field& f) {
    switch (f.id) {
      case Name::host:
        framing.many_hosts = framing.host != nullptr;
        framing.host = &f;
        break;
      case Name::content_length:
        framing.many_lengths = framing.content_length != nullptr;
        framing.content_length = &f;
        break;
      case Name::connection:
        framing.connection_size += f.value.size();
        framing.connection_specific = true;
        break;
      case Name::keep_alive:
      case Name::proxy_connection:
      case Name::transfer_encoding:
      case Name::upgrade: framing.connection_specific = true; break;
      case Name::te: framing.te_not_trailers |= !iequals(f.value, "trailers"); break;
      case Name::expect: note_expect(f.value, framing); break;
      case Name::max_forwards: framing.max_forwards = &f; break;
      default: break;
    }
  });
  return framing;
}

uint16_t effective_port(const Authority& a, std::string_view scheme) {
  if (a.port != 0) return a.port;
  return scheme == "https" ? 443 : 80;
}

// Whether two authorities name the same host and port.
bool agree(std::string_view a, std::string_view b, const Request& request) {
  if (a == b) return true;
  const auto left = parse_authority(a, *request.arena);
  const auto right = parse_authority(b, *request.arena);
  return left && right && left->host == right->host &&
         effective_port(*left, request.scheme) == effective_port(*right, request.scheme);
}

std::expected<void, Refusal> check_host(Request& request, const RequestFraming& framing) {
  if (framing.many_hosts) return refuse("more than one Host field");
  if (is_multiplexed(request.version)) {
    // RFC 9113 8.3.1, RFC 9114 4.3.1.
    if (framing.host == nullptr) {
      if (request.authority.empty()) return refuse("neither :authority nor Host");
    } else if (request.authority.empty()) {
      request.authority = framing.host->value;
    } else if (!agree(request.authority, framing.host->value, request)) {
      return refuse("Host and :authority differ");
    }
    return {};
  }
  // RFC 9112 3.2. HTTP/1.0 knows requests without it.
  if (framing.host == nullptr) {
    if (request.version == Version::http11) return refuse("no Host field");
    return {};
  }
  // An absolute target's authority stands for the field's (RFC 9112 3.2.2), which must be sound.
  if (request.authority.empty()) {
    request.authority = framing.host->value;
  } else if (!framing.host->value.empty() && request.method != Method::connect &&
             !parse_authority(framing.host->value, *request.arena)) {
    return refuse("malformed Host field");
  }
  return {};
}

std::expected<void, Refusal> check_length(Request& request, const RequestFraming& framing) {
  if (framing.content_length == nullptr) return {};
  if (framing.many_lengths) return refuse("more than one Content-Length field");
  const auto length = parse_decimal(framing.content_length->value);
  if (!length) return refuse("malformed Content-Length");
  if (request.body == BodyKind::length && request.content_length != *length) {
    return refuse("Content-Length and the body differ");
  }
  return {};
}

bool counts_hops(Method m) { return m == Method::options || m == Method::trace; }

}  // namespace

std::expected<void, Refusal> check_request(Request& request) {
  const RequestFraming framing = look_through(request.fields);
  if (is_multiplexed(request.version)) {
    if (framing.connection_specific) return refuse("connection-specific field in HTTP/2 or HTTP/3");
    if (framing.te_not_trailers) return refuse("TE other than trailers in HTTP/2 or HTTP/3");
  }
  if (framing.connection_size > kMaxConnectionOptions) return refuse("too many Connection options");
  if (auto ok = check_host(request, framing); !ok) return ok;
  if (auto ok = check_length(request, framing); !ok) return ok;
  if (framing.expects_other) return refuse("unknown expectation", 417);
  // RFC 9110 10.1.1: an HTTP/1.0 client's expectation is ignored.
  request.expects_continue = framing.expects_continue && request.version != Version::http10;
  if (framing.max_forwards != nullptr && counts_hops(request.method) &&
      !parse_decimal(framing.max_forwards->value)) {
    return refuse("malformed Max-Forwards");
  }
  return {};
}

bool take_hop(Request& request) {
  if (!counts_hops(request.method)) return true;
  Field* const field = request.fields.find(Name::max_forwards);
  if (field == nullptr) return true;
  const auto hops = parse_decimal(field->value);
  if (!hops || *hops == 0) return false;
  char* const text = static_cast<char*>(request.arena->allocate(20));
  const char* const end = std::to_chars(text, text + 20, *hops - 1).ptr;
  field->value = {text, static_cast<size_t>(end - text)};
  return true;
}

bool is_loop(const Request& request, const IdentitySettings& settings) {
  size_t passes = 0;
  request.fields.for_each([&](const Field& f) {
    if (f.id != Name::via) return;
    // received-protocol RWS received-by [RWS comment]
    for_each_member(f.value, [&](std::string_view member) {
      const size_t space = member.find_first_of(" \t");
      if (space == std::string_view::npos) return;
      const std::string_view by = trim_ows(member.substr(space));
      if (iequals(by.substr(0, by.find_first_of(" \t(")), settings.via)) ++passes;
    });
  });
  return passes >= kMaxPasses;
}

}  // namespace pqedge::http
