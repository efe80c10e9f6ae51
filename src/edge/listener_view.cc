#include "edge/listener_view.h"

#include <format>

namespace pqedge::edge {

std::shared_ptr<const ListenerView> make_listener_view(const ListenerSettings& settings,
                                                       const net::Address& address) {
  auto view = std::make_shared<ListenerView>();
  view->settings = settings;
  view->address = address;
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
