// The field rules: whatever a client's head holds, what goes on to a backend is sound, has no field
// of one hop, tells of the client what this hop saw, and nothing that it cannot know. The same for
// trailers, and for the heads of answers.
//
// Input: one byte of choices, then lines "name: value".
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/text.h"
#include "http/names.h"
#include "http/node.h"
#include "http/rules.h"

namespace {

using namespace pqedge;

void require(bool holds) {
  if (!holds) std::abort();
}

// What the codecs let through, as they would give it.
void read_fields(std::string_view lines, http::Fields& fields, http::Fields& trailers) {
  http::Fields* into = &fields;
  for (int i = 0; i < 64 && !lines.empty(); ++i) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(line.size() == lines.size() ? line.size() : line.size() + 1);
    if (line.empty()) {
      into = &trailers;
      continue;
    }
    const std::string_view name = line.substr(0, line.find(':'));
    const std::string_view value = trim_ows(line.substr(std::min(name.size() + 1, line.size())));
    if (http::is_token(name) && http::is_field_value(value)) into->add(name, value);
  }
}

const net::Network& trusted_network() {
  static const net::Network n = *net::Network::parse("192.0.2.0/24");
  return n;
}

// Of a field's name, as the least careful of backends reads it (CGI).
std::string folded(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const char l = ascii_lower(c);
    out += (l >= 'a' && l <= 'z') || is_digit(l) ? l : '_';
  }
  return out;
}

void check_request(const http::Request& r, const http::Identity& identity, bool trusted) {
  size_t forwarded_for = 0;
  size_t ids = 0;
  size_t cookies = 0;
  std::string_view via;
  r.fields.for_each([&](const http::Field& f) {
    require(http::is_token(f.name) && http::is_field_value(f.value));
    require(f.id == http::known_name(f.name));
    for (const std::string_view hop :
         {"Connection", "Keep-Alive", "Proxy-Connection", "Upgrade", "HTTP2-Settings", "Expect"}) {
      require(!iequals(f.name, hop));
    }
    const std::string name = folded(f.name);
    for (const std::string_view framing : {"transfer_encoding", "host", "content_length"}) {
      require(name != framing);
    }
    // By another spelling nobody says who the client is; a trusted peer in the right one alone.
    if (name == "x_forwarded_for") ++forwarded_for;
    if (name == "x_request_id") ++ids;
    if (f.id == http::Name::cookie) ++cookies;
    if (f.id == http::Name::via) via = f.value;
    if (f.id == http::Name::te) require(f.value == "trailers");
    require(name != "proxy");
    if (!trusted) require(name != "true_client_ip" && name != "x_original_url");
    require(!name.starts_with("x_ssl_client"));
  });
  require(forwarded_for == 1 && ids == 1 && cookies <= 1);
  require(r.fields.get(http::Name::x_request_id) == identity.request_id);
  require(via.ends_with(" pqedge"));
  const std::string_view list = r.fields.get(http::Name::x_forwarded_for);
  const std::string_view peer = trusted ? "192.0.2.7" : "203.0.113.9";
  require(list.ends_with(peer) && (trusted || list == peer));
  require(!trusted || list.size() == peer.size() || list.ends_with(", 192.0.2.7"));
}

void check_trailers(http::Fields& trailers) {
  http::strip_trailers(trailers);
  size_t left = 0;
  trailers.for_each([&](const http::Field& f) {
    ++left;
    const std::string name = folded(f.name);
    for (const std::string_view s :
         {"content_length", "transfer_encoding", "host", "connection", "x_forwarded_for",
          "x_request_id", "forwarded", "via", "x_real_ip", "early_data", "proxy"}) {
      require(name != s);
    }
    for (const http::Name id : {http::Name::authorization, http::Name::cookie, http::Name::expect,
                                http::Name::content_type, http::Name::set_cookie}) {
      require(f.id != id);
    }
  });
  http::strip_trailers(trailers);
  require(trailers.size() == left);
}

void try_request(uint8_t choices, std::string_view lines) {
  constexpr std::array kVersions = {http::Version::http10, http::Version::http11,
                                    http::Version::http2, http::Version::http3};
  const bool trusted = (choices & 4) != 0;
  Arena arena;
  http::Request r(arena);
  r.version = kVersions[choices & 3];
  r.method = http::Method::get;
  r.method_text = "GET";
  r.scheme = "https";
  r.target = "/";
  if ((choices & 8) != 0) r.authority = "a.test";
  read_fields(lines, r.fields, r.trailers);
  http::IdentitySettings settings;
  settings.trusted_proxies = {trusted_network()};
  settings.tls_fields = (choices & 16) != 0;
  net::ConnectionFacts facts;
  facts.peer = *net::Address::parse(trusted ? "192.0.2.7:1" : "203.0.113.9:1");
  facts.local = *net::Address::parse("198.51.100.1:443");
  facts.transport = net::Transport::tls;
  if (const auto ok = http::check_request(r); !ok) {
    require(ok.error().status >= 400 && !ok.error().reason.empty());
    return;
  }
  // Asked again it looks at the Host that it has taken: one that is none is refused then.
  if (!http::check_request(r)) return;
  const http::Identity identity = http::identify(r, facts, settings);
  require(identity.trusted_peer == trusted && !identity.request_id.empty());
  require(http::is_token(identity.request_id) && identity.request_id.size() <= 128);
  const auto client = http::parse_node(identity.client_ip);
  require(client.has_value());
  if (!trusted) require(identity.client_ip == "203.0.113.9");
  http::prepare_for_backend(r, facts, identity, settings);
  check_request(r, identity, trusted);
  check_trailers(r.trailers);
}

void try_response(uint8_t choices, std::string_view lines) {
  Arena arena;
  http::Response r(arena);
  r.status = (choices & 8) != 0 ? 204 : 200;
  r.body = (choices & 8) != 0 ? http::BodyKind::none : http::BodyKind::stream;
  read_fields(lines, r.fields, r.trailers);
  if (const auto ok = http::check_response(r); !ok) {
    require(ok.error().status == 502 && !ok.error().reason.empty());
    return;
  }
  http::prepare_for_client(r, http::Version::http2, "h3=\":443\"", {});
  size_t alternatives = 0;
  std::string_view via;
  r.fields.for_each([&](const http::Field& f) {
    require(http::is_token(f.name) && http::is_field_value(f.value));
    for (const http::Name id :
         {http::Name::connection, http::Name::keep_alive, http::Name::transfer_encoding,
          http::Name::upgrade, http::Name::content_length, http::Name::te}) {
      require(f.id != id);
    }
    alternatives += f.id == http::Name::alt_svc;
    if (f.id == http::Name::via) via = f.value;
  });
  require(alternatives == 1 && via.ends_with(" pqedge") && r.fields.has(http::Name::date));
  check_trailers(r.trailers);
}

// RFC 7239 6: what is read as an address is written and read as the same.
void try_node(std::string_view text) {
  const auto node = http::parse_node(text);
  if (!node) return;
  require(node->is_ip());
  const auto again = http::parse_node(node->ip());
  require(again && again->ip16() == node->ip16());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1 || size > 8192) return 0;
  const std::string_view lines = as_text(Bytes(data + 1, size - 1));
  try_request(data[0], lines);
  try_response(data[0], lines);
  try_node(lines);
  return 0;
}
