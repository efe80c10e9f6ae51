#include "edge/listener_view.h"

#include <algorithm>
#include <format>

#include "base/text.h"

namespace pqedge::edge {

bool ListenerView::redirects(std::string_view host) const {
  if (settings.redirect_hosts.empty()) return true;
  return std::ranges::any_of(settings.redirect_hosts, [&](std::string_view pattern) {
    if (!pattern.starts_with("*.")) return host == pattern;
    // The star stands for at least one byte.
    return host.size() >= pattern.size() && host.ends_with(pattern.substr(1));
  });
}

bool ListenerView::wants_proxy_header(const net::Address& peer) const {
  return std::ranges::any_of(settings.proxy_from,
                             [&](const net::Network& n) { return n.contains(peer); });
}

std::shared_ptr<const ListenerView> make_listener_view(
    const ListenerSettings& settings, const net::Address& address,
    std::shared_ptr<const PassthroughTable> passthrough, bool one_udp_socket) {
  auto view = std::make_shared<ListenerView>();
  view->settings = settings;
  for (std::string& host : view->settings.redirect_hosts) host = to_lower(host);
  view->address = address;
  view->passthrough = std::move(passthrough);
  view->one_udp_socket = one_udp_socket;
  if (settings.tls) {
    if (settings.http2) view->alpn.push_back("h2");
    if (settings.http1) view->alpn.push_back("http/1.1");
    if (settings.http3 && address.is_ip()) {
      view->alt_svc = std::format("h3=\":{}\"; ma=86400", address.port());
    }
  }
  return view;
}

}  // namespace pqedge::edge
