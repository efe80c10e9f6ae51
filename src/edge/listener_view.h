// What connections of one listening address need to know of their listener. Immutable; a reload
// makes a new one for connections to come.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "crypto/tls.h"
#include "edge/passthrough.h"
#include "edge/settings.h"
#include "net/facts.h"

namespace pqedge::edge {

struct ListenerView {
  // Whether a plain request for `host` (lower case, as canonicalised) is sent to https.
  bool redirects(std::string_view host) const;
  bool wants_proxy_header(const net::Address& peer) const;
  bool passes_on(PassthroughTransport t) const {
    return passthrough != nullptr && passthrough->has(t);
  }

  ListenerSettings settings;
  net::Address address;
  crypto::AlpnList alpn;  // for TLS over TCP, best first
  std::string alt_svc;    // of the UDP socket bound beside it (RFC 7838); empty when there is none
  std::shared_ptr<const PassthroughTable> passthrough;  // null: every connection is ours
  bool one_udp_socket = false;  // it came from the service manager: all workers read from one

  // Only an https origin over TCP has somewhere better to send people to.
  std::string_view alt_svc_for(const net::ConnectionFacts& facts) const {
    return facts.transport == net::Transport::tls ? std::string_view(alt_svc) : std::string_view{};
  }
};

std::shared_ptr<const ListenerView> make_listener_view(
    const ListenerSettings& settings, const net::Address& address,
    std::shared_ptr<const PassthroughTable> passthrough = nullptr, bool one_udp_socket = false);

}  // namespace pqedge::edge
