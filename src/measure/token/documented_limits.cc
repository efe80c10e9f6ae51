#include "measure/token/documented_limits.h"

#include <vector>

#include "http/limits.h"
#include "measure/token/request_fields.h"
#include "measure/token/request_forms.h"

namespace pqedge::measure {
namespace {

const std::vector<DocumentedLimit>& table() {
  static const http::Limits ours;
  static const std::vector<DocumentedLimit> limits = {
      {"cookie in a browser", 4096, Counted::cookie_pair, "ignored, without an error to the page",
       "draft-ietf-httpbis-rfc6265bis 5.6 and 5.7: name and value together"},
      {"curl, Cookie line", 8192, Counted::field_line, "cookies are left out",
       "curl.se/mail/lib-2023-05/0017.html"},
      {"nginx, one field", 8192, Counted::field_line, "400",
       "nginx.org/en/docs/http/ngx_http_core_module.html#large_client_header_buffers: 4 x 8k, a "
       "line fits in one buffer"},
      {"nginx, request line", 8192, Counted::request_line, "414",
       "nginx.org/en/docs/http/ngx_http_core_module.html#large_client_header_buffers"},
      {"HAProxy, whole head", 15'360, Counted::whole_head, "400",
       "docs.haproxy.org configuration manual: tune.bufsize 16384 less tune.maxrewrite 1024"},
      {"Node, whole head", 16'384, Counted::names_values, "431",
       "nodejs.org/api/http.html#httpmaxheadersize"},
      {"Apache, one field", 8190, Counted::bare_line, "400",
       "httpd.apache.org/docs/2.4/mod/core.html#limitrequestfieldsize"},
      {"Apache, request line", 8190, Counted::request_line, "414",
       "httpd.apache.org/docs/2.4/mod/core.html#limitrequestline"},
      {"Envoy, whole head", 60 * 1024, Counted::whole_head, "431",
       "envoyproxy.io HttpConnectionManager max_request_headers_kb"},
      {"Caddy, whole head", 1'000'000, Counted::whole_head, "431",
       "caddyserver.com/docs/caddyfile/options max_header_size: 1MB"},
      {"gRPC, metadata", 8192, Counted::field_list, "RESOURCE_EXHAUSTED",
       "GRPC_ARG_MAX_METADATA_SIZE, soft limit; grpc/grpc-java#4284"},
      {"hyper, HTTP/2 field list", 16 * 1024, Counted::field_list, "stream error",
       "hyperium/hyper discussion 3687: since 1.3.1"},
      {"Kestrel, all fields", 32'768, Counted::whole_head, "431",
       "learn.microsoft.com KestrelServerLimits.MaxRequestHeadersTotalSize"},
      {"Tomcat, whole head", 8192, Counted::whole_head, "400",
       "tomcat.apache.org/tomcat-9.0-doc/config/http.html maxHttpHeaderSize"},
      {"Keycloak, token parameter", 20'000, Counted::value, "refused",
       "keycloak/keycloak#49472: 4,000 before May 2026"},
      {"pqedge, field list", ours.max_head, Counted::field_list, "431",
       "this repository, http/limits.h"},
      {"pqedge, target", ours.max_target, Counted::target, "414", "this repository, http/limits.h"},
  };
  return limits;
}

}  // namespace

std::string_view counted_text(Counted counted) {
  switch (counted) {
    case Counted::field_line: return "one field's line, line end included";
    case Counted::bare_line: return "one field's line, without its end";
    case Counted::whole_head: return "request line and all fields";
    case Counted::names_values: return "names, values and target";
    case Counted::field_list: return "names and values, 32 a field added";
    case Counted::cookie_pair: return "the cookie's name and value";
    case Counted::request_line: return "the request line, the token in its query";
    case Counted::target: return "path and query, the token in it";
    case Counted::value: return "the token alone";
  }
  return {};
}

std::span<const DocumentedLimit> documented_limits() { return table(); }

uint64_t bytes_against(Counted counted, uint64_t token) {
  const RequestForms forms(token);
  switch (counted) {
    case Counted::field_line: return forms.authorization_line();
    case Counted::bare_line: return forms.authorization_line() - 2;
    case Counted::whole_head: return forms.whole_head();
    case Counted::names_values: return forms.names_and_values();
    case Counted::field_list: return forms.field_list();
    case Counted::cookie_pair: return forms.cookie_pair();
    case Counted::request_line: return forms.request_line();
    case Counted::target: return forms.target();
    case Counted::value: return token;
  }
  return token;
}

}  // namespace pqedge::measure
