#include "http/hop_by_hop.h"

#include "base/text.h"
#include "http/protected_names.h"
#include "http/rules.h"

namespace pqedge::http {

void remove_connection_named(Fields& fields) {
  for (const Field& connection : fields.raw()) {
    if (connection.id != Name::connection || connection.removed) continue;
    for_each_member(connection.value.substr(0, kMaxConnectionOptions),
                    [&](std::string_view option) {
                      const Name id = known_name(option);
                      if (id == Name::te || is_hop_by_hop(id))
                        return;  // "TE", "Upgrade", "Keep-Alive": as usual
                      fields.remove(option);
                    });
  }
}

void keep_trailers(Field& te) {
  bool trailers = false;
  for_each_member(te.value, [&](std::string_view member) {
    trailers = trailers || iequals(member, "trailers");
  });
  te.value = "trailers";
  te.removed = !trailers;
}

void strip_hop_by_hop(Fields& fields) {
  remove_connection_named(fields);
  fields.for_each_mutable([](Field& f) {
    if (f.id == Name::te) {
      keep_trailers(f);
    } else if (is_hop_by_hop(f.id)) {
      f.removed = true;
    }
  });
}

namespace {

bool may_be_trailer(Name id) {
  if (is_hop_by_hop(id)) return false;
  switch (id) {
    // Framing and routing.
    case Name::content_length:
    case Name::host:
    case Name::trailer:
    // Request modifiers: controls and conditionals (RFC 9110 7.6.2, 10.1, 13.1, 14.2).
    case Name::cache_control:
    case Name::early_data:
    case Name::expect:
    case Name::if_match:
    case Name::if_modified_since:
    case Name::if_none_match:
    case Name::if_range:
    case Name::if_unmodified_since:
    case Name::max_forwards:
    case Name::pragma:
    case Name::range:
    case Name::te:
    // Credentials and state (RFC 9110 11, RFC 6265).
    case Name::authorization:
    case Name::cookie:
    case Name::set_cookie:
    case Name::www_authenticate:
    // Response controls (RFC 9110 6.6, 8.8, 10.2, 12.5.5).
    case Name::age:
    case Name::date:
    case Name::expires:
    case Name::location:
    case Name::retry_after:
    case Name::vary:
    // How to read the content (RFC 9110 8).
    case Name::content_encoding:
    case Name::content_range:
    case Name::content_type:
    // What only a proxy says.
    case Name::forwarded:
    case Name::via:
    case Name::x_forwarded_for:
    case Name::x_forwarded_host:
    case Name::x_forwarded_port:
    case Name::x_forwarded_proto:
    case Name::x_real_ip:
    case Name::x_request_id: return false;
    default: return true;
  }
}

}  // namespace

void strip_trailers(Fields& trailers, const IdentitySettings& settings) {
  strip_trailers(trailers);
  trailers.for_each_mutable([&](Field& f) { f.removed = settings.protects(f.name); });
}

void strip_trailers(Fields& trailers) {
  trailers.for_each_mutable([](Field& f) {
    f.removed =
        !may_be_trailer(f.id) || (f.id == Name::other && protection_of(f.name) != Protection::none);
  });
}

}  // namespace pqedge::http
