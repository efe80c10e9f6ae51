// What a backend's answer must be, and what of it reaches the client.
#include "base/text.h"
#include "http/hop_by_hop.h"
#include "http/rules.h"

namespace pqedge::http {

std::expected<void, Refusal> check_response(Response& response) {
  const auto refuse = [](std::string_view reason) { return std::unexpected(Refusal{502, reason}); };
  if (response.status < 100 || response.status > 599) return refuse("status out of range");
  const Field* length = nullptr;
  size_t lengths = 0;
  size_t connection_size = 0;
  response.fields.for_each([&](const Field& f) {
    if (f.id == Name::content_length) {
      length = &f;
      ++lengths;
    } else if (f.id == Name::connection) {
      connection_size += f.value.size();
    }
  });
  if (connection_size > kMaxConnectionOptions) return refuse("too many Connection options");
  if (lengths > 1) return refuse("more than one Content-Length field");
  if (length != nullptr) {
    const auto n = parse_decimal(length->value);
    if (!n) return refuse("malformed Content-Length");
    if (response.body == BodyKind::length && response.content_length != *n) {
      return refuse("Content-Length and the body differ");
    }
  }
  return {};
}

void prepare_for_client(Response& response, Version client_version, std::string_view alt_svc,
                        const IdentitySettings& settings) {
  Arena& arena = *response.arena;
  Fields& fields = response.fields;
  remove_connection_named(fields);
  const bool no_length = response.status < 200 || response.status == 204 ||  // RFC 9110 8.6
                         response.body == BodyKind::stream;
  bool dated = false;
  Field* via = nullptr;
  fields.for_each_mutable([&](Field& f) {
    switch (f.id) {
      case Name::other: break;
      case Name::alt_svc:  // of the backend's own address
      case Name::te: f.removed = true; break;
      case Name::content_length: f.removed = no_length; break;
      case Name::date: dated = true; break;
      case Name::trailer:  // nothing follows a body of HTTP/1.0
        f.removed = client_version == Version::http10;
        break;
      case Name::via: via = &f; break;
      default: f.removed = is_hop_by_hop(f.id); break;
    }
  });
  // RFC 9110 7.6.3, 6.6.1.
  const std::string_view protocol = via_protocol(response.version);
  if (via != nullptr) {
    via->value = arena.concat(via->value, ", ", protocol, " ", settings.via);
  } else {
    fields.add(Name::via, arena.concat(protocol, " ", settings.via));
  }
  if (!dated) fields.add(Name::date, arena.copy(http_date()));
  if (!alt_svc.empty()) fields.add(Name::alt_svc, alt_svc);
}

}  // namespace pqedge::http
