// The protocol-neutral request and response head: what every codec makes and every step reads.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/arena.h"
#include "http/fields.h"

namespace pqedge::http {

enum class Version : uint8_t { http10, http11, http2, http3 };
std::string_view version_name(Version v);  // "HTTP/1.1", "HTTP/2", "HTTP/3"
std::string_view via_protocol(Version v);  // "1.1", "2", "3" (RFC 9110 7.6.3)

enum class Method : uint8_t {
  other,
  get,
  head,
  post,
  put,
  delete_,
  connect,
  options,
  trace,
  patch
};
Method parse_method(std::string_view text);  // case-sensitive (RFC 9110 9.1)
bool is_safe(Method m);                      // RFC 9110 9.2.1
bool is_idempotent(Method m);                // RFC 9110 9.2.2

// How the length of a body is known.
enum class BodyKind : uint8_t {
  none,    // no body follows
  length,  // `content_length` bytes follow
  stream   // until the end is signalled
};

// Views are into `arena` or static. Header fields only: pseudo-header fields are members, and
// `host`, `content-length`, `transfer-encoding` and hop-by-hop fields that the codec understood are
// kept in `fields` as they came; the field rules (rules.h) remove them before forwarding.
struct Request {
  explicit Request(Arena& a) : arena(&a), fields(a), trailers(a) {}

  Arena* arena;
  Version version = Version::http11;
  Method method = Method::other;
  std::string_view method_text;
  std::string_view scheme;     // "https", "http": of the connection for HTTP/1.1
  std::string_view authority;  // as it came (absolute form or :authority or Host), may have a port
  std::string_view target;     // path and query as they came: "/a%20b?x=1", or "*"; CONNECT: empty
  // The one protocol that the client asks for in place of HTTP, in lower case ("websocket"), or
  // empty. In HTTP/1.1 a request without a body, with Upgrade and Connection: upgrade, that names
  // no other (RFC 9110 7.8); in HTTP/2 and 3 an extended CONNECT, which is told as the GET that it
  // stands for (RFC 8441 5, RFC 9220). So `method` connect is a plain CONNECT in every version:
  // `authority` is its target, and `target` is empty.
  std::string_view upgrade;
  Fields fields;
  Fields trailers;
  BodyKind body = BodyKind::none;
  uint64_t content_length = 0;    // when body == length
  bool expects_continue = false;  // the client waits for 100 (RFC 9110 10.1.1)

  // Set by canonicalise() (uri.h).
  std::string_view host;   // lower case, without port, without a trailing dot
  uint16_t port = 0;       // of the authority; 0 when it names none
  std::string_view path;   // canonical path for every decision
  std::string_view query;  // as it came, without "?"
};

struct Response {
  explicit Response(Arena& a) : arena(&a), fields(a), trailers(a) {}

  Arena* arena;
  Version version = Version::http11;  // of who answered
  uint16_t status = 0;
  bool tunnel = false;  // after this head both directions are bytes without framing (stream.h)
  Fields fields;
  Fields trailers;
  BodyKind body = BodyKind::none;
  uint64_t content_length = 0;
};

std::string_view reason_phrase(uint16_t status);

// Whether a response to `method` with `status` has a body at all (RFC 9110 6.4.1, RFC 9112 6.3).
inline bool response_has_body(Method method, uint16_t status) {
  return method != Method::head && status >= 200 && status != 204 && status != 304;
}

// IMF-fixdate (RFC 9110 5.6.7) of now; the text is made once a second a thread.
std::string_view http_date();

}  // namespace pqedge::http
