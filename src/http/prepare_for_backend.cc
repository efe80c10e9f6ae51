// The client's head becomes the one for the backend.
#include <charconv>
#include <cstring>

#include "base/text.h"
#include "http/hop_by_hop.h"
#include "http/protected_names.h"
#include "http/rules.h"

namespace pqedge::http {
namespace {

// What a trusted peer said, before its fields are replaced.
struct Theirs {
  std::string_view x_forwarded_for, x_forwarded_host, x_forwarded_port, x_forwarded_proto;
  std::string_view forwarded;
};

Theirs read_theirs(const Fields& fields) {
  return {.x_forwarded_for = fields.joined(Name::x_forwarded_for),
          .x_forwarded_host = fields.get(Name::x_forwarded_host),
          .x_forwarded_port = fields.get(Name::x_forwarded_port),
          .x_forwarded_proto = fields.get(Name::x_forwarded_proto),
          .forwarded = fields.joined(Name::forwarded)};
}

// What the pass over the client's fields found.
struct Found {
  Field* cookie = nullptr;  // the first
  size_t cookies = 0;
  Field* via = nullptr;  // the last: ours is appended to it
  bool early_data = false;
};

class Pass {
 public:
  Pass(const IdentitySettings& settings, bool trusted) : settings_(settings), trusted_(trusted) {}

  Found over(Fields& fields) {
    fields.for_each_mutable([this](Field& f) { visit(f); });
    if (!settings_.protected_fields.empty()) remove_protected(fields);
    return found_;
  }

 private:
  // Names that have a number are protected too where the configuration says so.
  void remove_protected(Fields& fields) const {
    fields.for_each_mutable([this](Field& f) {
      f.removed = f.id != Name::other && f.id != Name::cookie && settings_.protects(f.name);
    });
  }

  void visit(Field& f) {
    switch (f.id) {
      case Name::other: {
        const Protection p = protection_of(f.name);
        // What CGI takes for HTTP_PROXY (CVE-2016-5385) no peer has a use for.
        const bool exact = p == Protection::exact && (!trusted_ || iequals(f.name, "proxy"));
        f.removed = p == Protection::folded || p == Protection::client_certificate || exact ||
                    settings_.protects(f.name);
        break;
      }
      case Name::content_length:
      case Name::expect:
      case Name::host:
      case Name::x_request_id: f.removed = true; break;
      case Name::te: keep_trailers(f); break;
      case Name::x_forwarded_for:
      case Name::x_forwarded_host:
      case Name::x_forwarded_port:
      case Name::x_forwarded_proto:
      case Name::x_real_ip: f.removed = !trusted_ || settings_.x_forwarded; break;
      case Name::forwarded: f.removed = !trusted_ || settings_.forwarded; break;
      case Name::cookie:
        if (found_.cookies++ == 0) found_.cookie = &f;
        break;
      case Name::via: found_.via = &f; break;
      case Name::early_data:  // never to be removed (RFC 8470 5.1)
        found_.early_data = true;
        break;
      default: f.removed = is_hop_by_hop(f.id); break;
    }
  }

  const IdentitySettings& settings_;
  bool trusted_;
  Found found_;
};

// RFC 9113 8.2.3, RFC 9114 4.2.1: the crumbs become one field.
void join_cookies(Fields& fields, Field& first) {
  constexpr std::string_view kSeparator = "; ";
  size_t size = 0;
  fields.for_each([&](const Field& f) {
    if (f.id == Name::cookie) size += f.value.size() + kSeparator.size();
  });
  char* const text = static_cast<char*>(fields.arena().allocate(size));
  char* p = text;
  const auto put = [&](std::string_view s) {
    if (!s.empty()) std::memcpy(p, s.data(), s.size());
    p += s.size();
  };
  fields.for_each_mutable([&](Field& f) {
    if (f.id != Name::cookie) return;
    if (p != text) put(kSeparator);
    put(f.value);
    f.removed = &f != &first;
  });
  first.value = {text, static_cast<size_t>(p - text)};
}

std::string_view peer_text(const net::Address& peer, Arena& arena) {
  if (!peer.is_ip())
    return "unknown";  // RFC 7239 6.2; who connected to a Unix socket has no address
  char text[net::Address::kMaxIpText];
  return arena.copy({text, peer.write_ip(text)});
}

std::string_view appended(std::string_view list, std::string_view member, Arena& arena) {
  return list.empty() ? member : arena.concat(list, ", ", member);
}

std::string_view port_text(uint16_t port, Arena& arena) {
  char text[5];
  const char* const end = std::to_chars(text, text + sizeof text, port).ptr;
  return arena.copy({text, static_cast<size_t>(end - text)});
}

void add_x_forwarded(Request& r, const net::ConnectionFacts& facts, const Identity& identity,
                     std::string_view peer, const Theirs& theirs) {
  Fields& f = r.fields;
  Arena& arena = *r.arena;
  const auto or_ours = [](std::string_view value, std::string_view ours) {
    return value.empty() ? ours : value;
  };
  f.add(Name::x_forwarded_for, appended(theirs.x_forwarded_for, peer, arena));
  f.add(Name::x_forwarded_proto, or_ours(theirs.x_forwarded_proto, r.scheme));
  const std::string_view host = or_ours(theirs.x_forwarded_host, r.authority);
  if (!host.empty()) f.add(Name::x_forwarded_host, host);
  if (!theirs.x_forwarded_port.empty()) {
    f.add(Name::x_forwarded_port, theirs.x_forwarded_port);
  } else if (facts.local.port() != 0) {
    f.add(Name::x_forwarded_port, port_text(facts.local.port(), arena));
  }
  if (facts.peer.is_ip()) f.add(Name::x_real_ip, identity.client_ip);
}

// RFC 7239 4. An IPv6 node and a host with a port are no tokens: quoted. Neither can hold a quote:
// the host was judged when the request was made canonical.
void add_forwarded(Request& r, const net::Address& peer_address, std::string_view peer,
                   std::string_view theirs) {
  Arena& arena = *r.arena;
  const bool six = peer_address.family() == AF_INET6;
  const std::string_view open = six ? "for=\"[" : "for=";
  const std::string_view close = six ? "]\";proto=" : ";proto=";
  const bool quote = !is_token(r.authority);
  const std::string_view host = r.authority.empty() ? "" : quote ? ";host=\"" : ";host=";
  const std::string_view end = !r.authority.empty() && quote ? "\"" : "";
  const std::string_view separator = theirs.empty() ? "" : ", ";
  r.fields.add(Name::forwarded, arena.concat(theirs, separator, open, peer, close, r.scheme, host,
                                             r.authority, end));
}

// Only a trusted peer's can be there already: then it speaks of the client's connection, not ours.
void add_tls_fields(Request& r, const net::ConnectionFacts& facts) {
  if (r.fields.find("X-HTTP-Version") != nullptr) return;
  r.fields.push({.name = "X-HTTP-Version", .value = version_name(r.version)});
  if (!facts.secure()) return;
  r.fields.push({.name = "X-TLS-Version", .value = facts.tls_version});
  r.fields.push({.name = "X-TLS-Group", .value = facts.group});
  r.fields.push({.name = "X-TLS-Cipher", .value = facts.cipher});
}

}  // namespace

void prepare_for_backend(Request& request, const net::ConnectionFacts& facts,
                         const Identity& identity, const IdentitySettings& settings) {
  Arena& arena = *request.arena;
  Fields& fields = request.fields;
  remove_connection_named(fields);
  const Theirs theirs = identity.trusted_peer ? read_theirs(fields) : Theirs{};
  const Found found = Pass(settings, identity.trusted_peer).over(fields);
  if (found.cookies > 1) join_cookies(fields, *found.cookie);

  // Adding moves the fields: what `found` points to is not used below it.
  const std::string_view protocol = via_protocol(request.version);
  if (found.via != nullptr) {
    found.via->value = arena.concat(found.via->value, ", ", protocol, " ", settings.via);
  } else {
    fields.add(Name::via, arena.concat(protocol, " ", settings.via));
  }
  const std::string_view peer = identity.trusted_peer || !facts.peer.is_ip()
                                    ? peer_text(facts.peer, arena)
                                    : identity.client_ip;
  if (settings.x_forwarded) add_x_forwarded(request, facts, identity, peer, theirs);
  if (settings.forwarded) add_forwarded(request, facts.peer, peer, theirs.forwarded);
  if (settings.tls_fields) add_tls_fields(request, facts);
  add_client_certificate_fields(request, facts, settings.client_certificate);
  if (!identity.request_id.empty()) fields.add(Name::x_request_id, identity.request_id);
  // RFC 8470 5.1: what may be a replay is passed on as such.
  if (facts.handshake_pending && !found.early_data) fields.add(Name::early_data, "1");
}

}  // namespace pqedge::http
