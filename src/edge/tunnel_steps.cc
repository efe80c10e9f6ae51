#include "edge/tunnel_steps.h"

#include "edge/exchange.h"

namespace pqedge::edge {
namespace {

Verdict refuse(Exchange& x, uint16_t status, std::string_view reason) {
  x.answer(status, reason);
  return Verdict::answered;
}

// RFC 9110 9.3.6.
Verdict check_connect(Exchange& x) {
  const http::Request& r = x.request();
  if (x.plan().settings == nullptr) {
    return x.snapshot().serves_connect() ? refuse(x, 403, "no route takes CONNECT for this target")
                                         : refuse(x, 501, "CONNECT is not served");
  }
  if (r.port == 0) return refuse(x, 400, "CONNECT without a port");
  const bool http1 = r.version == http::Version::http10 || r.version == http::Version::http11;
  if (http1 && r.body != http::BodyKind::none) return refuse(x, 400, "CONNECT with a body");
  return Verdict::next;
}

}  // namespace

Verdict check_tunnel(Exchange& x) {
  http::Request& r = x.request();
  if (r.method == http::Method::connect) return check_connect(x);
  if (r.upgrade.empty()) return Verdict::next;
  const bool http1 = r.version == http::Version::http11;
  const route::RouteSettings* const route = x.plan().settings;
  if (route != nullptr && !route->pool.empty() && route->tunnel.takes(r.upgrade)) {
    prepare_upgrade(r);
    return Verdict::next;
  }
  if (!http1 && route != nullptr) return refuse(x, 501, "the route does not take this :protocol");
  r.upgrade = {};  // without a route the answer is 404 anyhow
  return Verdict::next;
}

}  // namespace pqedge::edge
