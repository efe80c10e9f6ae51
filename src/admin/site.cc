#include "admin/site.h"

#include <algorithm>
#include <span>

#include "admin/orders.h"
#include "base/text.h"
#include "http/uri.h"
#include "record/metrics.h"

namespace pqedge::admin {
namespace {

constexpr std::string_view kIndex =
    "pqedge admin: read-only pages.\n"
    "\n"
    "/healthz        200 while the process runs\n"
    "/readyz         200 when it takes requests, 503 before and while it drains\n"
    "/metrics        Prometheus text\n"
    "/metrics.json   the same as JSON\n"
    "\n"
    "Reload, drain, status and the backends are on the control socket, and here for who sends the\n"
    "bearer token of admin.token_file.\n";

constexpr std::string_view kControlIndex =
    "pqedge control socket.\n"
    "\n"
    "GET  /status        JSON\n"
    "GET  /backends      JSON: the servers of all pools\n"
    "GET  /backends/POOL JSON: of one\n"
    "PUT  /backends/POOL/servers   a list: servers beside those of the configuration\n"
    "POST /backends/POOL/add       {\"address\": \"192.0.2.1:80\", \"weight\": 1}\n"
    "POST /backends/POOL/ORDER     {\"server\": \"192.0.2.1:80\"}; ORDER is remove, drain, ready,\n"
    "                              reset, or weight with \"weight\": 1 beside the server\n"
    "GET  /canaries      JSON: of each route with a canary\n"
    "POST /reload        read the configuration again\n"
    "POST /upgrade       start the program anew; it takes over without a pause\n"
    "POST /drain         stop in good order, as SIGTERM does\n"
    "POST /reopen-logs   open the log files again\n"
    "POST /reload-certificates   read certificates whose files have changed\n"
    "POST /canaries/ROUTE?percent=N          N of a hundred requests go to the canary\n"
    "POST /canaries/ROUTE?percent=rollback   none does\n";

constexpr std::string_view kPages[] = {"/", "/healthz", "/readyz", "/metrics", "/metrics.json"};
constexpr std::string_view kQuestions[] = {"/", "/status", "/canaries"};
constexpr std::string_view kCanary = "/canaries/";
constexpr std::string_view kBackends = "/backends";
constexpr std::string_view kOrders[] = {"/reload", "/upgrade", "/reload-certificates", "/drain",
                                        "/reopen-logs"};

bool one_of(std::string_view path, std::span<const std::string_view> list) {
  return std::ranges::find(list, path) != list.end();
}

Answer not_found() { return {.status = 404, .body = "There is no such page. / lists them.\n"}; }

Answer wrong_method(std::string_view allow) {
  return {
      .status = 405, .body = "Only " + std::string(allow) + " is answered here.\n", .allow = allow};
}

}  // namespace

Site::Site(Hooks hooks, std::vector<std::string> hosts) : hooks_(std::move(hooks)) {
  set_hosts(std::move(hosts));
}

void Site::set_hosts(std::vector<std::string> hosts) {
  hosts_ = std::move(hosts);
  for (std::string& host : hosts_) host = to_lower(host);
}

bool Site::knows_host(const http::Request& request, const net::ConnectionFacts& facts) const {
  // Only clients that are no browsers leave Host out: health checks in HTTP/1.0.
  if (request.authority.empty()) return request.version == http::Version::http10;
  const std::string_view host = request.host;
  if (host == "localhost" || std::ranges::find(hosts_, host) != hosts_.end()) return true;
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  const auto address = net::Address::from_ip(bracketed ? host.substr(1, host.size() - 2) : host, 0);
  return address && (address->is_loopback() || *address == facts.local.with_port(0));
}

bool Site::may_control(const http::Request& request, Side side) const {
  if (side == Side::control) return true;
  if (!token_) return false;
  const http::Field* field = request.fields.find(http::Name::authorization);
  return field != nullptr && token_->matches(field->value);
}

bool Site::wants_body(const http::Request& request, Side side) const {
  const bool order = request.method == http::Method::put || request.method == http::Method::post;
  return order && request.target.starts_with(kBackends) && may_control(request, side);
}

Answer Site::respond(http::Request& request, Side side, const net::ConnectionFacts& facts,
                     std::string_view body) const {
  if (!request.authority.empty() || request.version != http::Version::http10) {
    if (const auto ok = http::canonicalise(request); !ok) {
      return {.status = ok.error().status, .body = std::string(ok.error().reason) + "\n"};
    }
  } else {
    request.path = request.target.substr(0, request.target.find('?'));
  }
  // A Unix socket has no name that could be made to point at it.
  if (side == Side::pages && !knows_host(request, facts)) {
    return {.status = 403,
            .body =
                "This host name is not answered here: use the address, or add the name to "
                "hosts in [admin].\n"};
  }
  const bool is_get = request.method == http::Method::get;
  if (side == Side::pages) {
    if (one_of(request.path, kPages)) return is_get ? page(request.path) : wrong_method("GET");
    if (!token_) return not_found();
    if (!may_control(request, side)) {
      return {.status = 401,
              .body = "The bearer token of admin.token_file is wanted here.\n",
              .wants_token = true};
    }
  }
  return respond_control(request, body);
}

Answer Site::respond_control(const http::Request& request, std::string_view body) const {
  const bool is_get = request.method == http::Method::get;
  const std::string_view path = request.path;
  if (path == kBackends || (path.starts_with(kBackends) && path[kBackends.size()] == '/')) {
    return backends(request, body);
  }
  if (one_of(request.path, kQuestions)) return is_get ? control(request.path) : wrong_method("GET");
  if (request.path.starts_with(kCanary)) {
    return request.method == http::Method::post
               ? set_canary(request.path.substr(kCanary.size()), request.query)
               : wrong_method("POST");
  }
  if (!one_of(request.path, kOrders)) return not_found();
  return request.method == http::Method::post ? control(request.path) : wrong_method("POST");
}

Answer Site::backends(const http::Request& request, std::string_view body) const {
  const std::string_view rest =
      request.path.substr(kBackends.size());  // "", "/POOL", "/POOL/ORDER"
  if (request.method == http::Method::get && rest.find('/', 1) == std::string_view::npos) {
    const std::string pool(rest.substr(rest.empty() ? 0 : 1));
    if (!rest.empty() && pool.empty()) return not_found();
    std::string json = hooks_.backends_json(pool);
    if (json.empty()) return {.status = 404, .body = "There is no such pool.\n"};
    return {.body = std::move(json), .content_type = "application/json"};
  }
  const auto order = read_order(request.method, request.path, body);
  if (!order) {
    const int status = order.error().code;
    if (status == 405) return wrong_method(order.error().message == "PUT" ? "PUT" : "POST");
    return {.status = static_cast<uint16_t>(status), .body = order.error().message + "\n"};
  }
  const auto done = hooks_.order(*order);
  if (done) return {.body = *done + "\n"};
  const int status = done.error().code;
  return {.status = static_cast<uint16_t>(status >= 400 && status < 500 ? status : 422),
          .body = done.error().message + "\n"};
}

Answer Site::page(std::string_view path) const {
  if (path == "/healthz") return {.body = "ok\n"};
  if (path == "/readyz") {
    return hooks_.ready() ? Answer{.body = "ready\n"}
                          : Answer{.status = 503, .body = "not ready\n"};
  }
  if (path == "/metrics") {
    return {.body = record::prometheus_text(),
            .content_type = "text/plain; version=0.0.4; charset=utf-8"};
  }
  if (path == "/metrics.json") {
    return {.body = record::metrics_json(), .content_type = "application/json"};
  }
  return {.body = std::string(kIndex)};
}

Answer Site::set_canary(std::string_view route, std::string_view query) const {
  constexpr std::string_view kPercent = "percent=";
  if (!query.starts_with(kPercent) || query.contains('&')) {
    return {.status = 400, .body = "Write ?percent=0 to ?percent=100, or ?percent=rollback.\n"};
  }
  const auto done =
      hooks_.set_canary(std::string(route), std::string(query.substr(kPercent.size())));
  return done ? Answer{.body = *done + "\n"}
              : Answer{.status = 422, .body = done.error().message + "\n"};
}

Answer Site::control(std::string_view path) const {
  if (path == "/status") {
    return {.body = hooks_.status_json() + "\n", .content_type = "application/json"};
  }
  if (path == "/canaries") {
    return {.body = hooks_.canaries_json() + "\n", .content_type = "application/json"};
  }
  if (path == "/reload" || path == "/reload-certificates") {
    const auto done = path == "/reload" ? hooks_.reload() : hooks_.reload_certificates();
    // 422: the request was understood, the file it is about was not.
    return done ? Answer{.body = *done + "\n"}
                : Answer{.status = 422, .body = done.error().message + "\n"};
  }
  if (path == "/upgrade") {
    const auto done = hooks_.upgrade();
    return done ? Answer{.body = *done + "\n"}
                : Answer{.status = 422, .body = done.error().message + "\n"};
  }
  if (path == "/drain") {
    hooks_.drain();
    return {.status = 202, .body = "draining\n"};
  }
  if (path == "/reopen-logs") {
    hooks_.reopen_logs();
    return {.status = 202, .body = "reopening\n"};
  }
  return {.body = std::string(kControlIndex)};
}

}  // namespace pqedge::admin
