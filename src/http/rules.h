// The field rules, in one place for all versions (S8): what may cross from one connection to the
// next, and what this hop adds.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "http/client_certificate_fields.h"
#include "http/message.h"
#include "http/uri.h"
#include "net/facts.h"

namespace pqedge::http {

// Checks that hold for every version and that the codecs share:
// RFC 9110 7.2 / RFC 9113 8.3.1 / RFC 9114 4.3.1 (Host against :authority, exactly one in
// HTTP/1.1), content-length against what was given, forbidden connection fields in HTTP/2 and 3
// (RFC 9113 8.2.2), `TE` other than trailers, Expect, Max-Forwards syntax.
// Sets request.authority, expects_continue. Calling it again changes nothing.
std::expected<void, Refusal> check_request(Request& request);
std::expected<void, Refusal> check_response(Response& response);

// RFC 9110 7.6.2: takes one from the Max-Forwards of OPTIONS and TRACE. False when none is left:
// the request is ours to answer.
bool take_hop(Request& request);

// Removes hop-by-hop fields and those that `Connection` names (RFC 9110 7.6.1). Of TE, "trailers"
// stays: the codec says it anew. Content-Length stays: codecs write it from the message's body, and
// it tells of the representation where there is none (HEAD, 304).
void strip_hop_by_hop(Fields& fields);

// Removes what a trailer section must not carry (RFC 9110 6.5.1): framing, routing, request
// modifiers, credentials, what describes the content, and what only a proxy may say, in any
// spelling (protected_names.h).
void strip_trailers(Fields& trailers);

// Client identity (R5).
struct IdentitySettings {
  std::vector<net::Network>
      trusted_proxies;      // whose X-Forwarded-*, Forwarded and X-Request-ID count
  bool forwarded = true;    // send RFC 7239 Forwarded
  bool x_forwarded = true;  // send X-Forwarded-For, -Proto, -Host, -Port and X-Real-IP
  ClientCertificateFields client_certificate;  // what is sent of a client's certificate
  bool tls_fields = false;     // send X-HTTP-Version, X-TLS-Version, X-TLS-Group and X-TLS-Cipher
  std::string via = "pqedge";  // the pseudonym in Via
  // Further names that no client may send, not even a trusted peer, in any spelling (K50): those by
  // which an authentication service tells backends who someone is.
  std::vector<std::string> protected_fields;

  // Whether a backend could take `name` for one that is protected by the configuration.
  bool protects(std::string_view name) const;
};

// As strip_trailers(), and what is protected by a configured name.
void strip_trailers(Fields& trailers, const IdentitySettings& settings);

struct Identity {
  std::string_view client_ip;   // after trusted proxies, text
  std::string_view request_id;  // made, or taken from a trusted peer
  bool trusted_peer = false;
};

// Reads (from a trusted peer) or makes the identity; nothing is written.
Identity identify(const Request& request, const net::ConnectionFacts& facts,
                  const IdentitySettings& settings);

// Turns the client's request head into the one for the backend: hop-by-hop gone, identity fields
// replaced (a client's own are dropped unless it is a trusted peer, whose lists are appended to;
// any other spelling that a backend could fold into them is dropped, K50), Via added, X-Request-ID
// set, cookie crumbs joined (RFC 9113 8.2.3), Early-Data said (RFC 8470 5.1), `Connection` options
// applied to the client's own fields first (K38). Expect is dropped: the exchange answers it. Host
// is dropped: codecs write it from request.authority.
void prepare_for_backend(Request& request, const net::ConnectionFacts& facts,
                         const Identity& identity, const IdentitySettings& settings);
// And the backend's response into the one for the client: hop-by-hop gone, Via added, Date set when
// missing, Alt-Svc replaced by ours (`alt_svc` empty: removed).
void prepare_for_client(Response& response, Version client_version, std::string_view alt_svc,
                        const IdentitySettings& settings);

// RFC 9110 7.6.3: our own pseudonym in Via again and again means a loop. A few passes are no loop:
// edges may stand behind each other under one name.
bool is_loop(const Request& request, const IdentitySettings& settings);

}  // namespace pqedge::http
