#include "edge/validate_acme.h"

#include <algorithm>

#include "jobs/acme/validate.h"

namespace pqedge::edge {

Problems validate_acme(const Settings& settings) {
  const acme::Settings& acme = settings.acme;
  Problems out = acme::validate(acme);
  if (!acme.on()) return out;
  const bool any_tls = std::ranges::any_of(settings.listeners, &ListenerSettings::tls);
  const bool any_plain =
      std::ranges::any_of(settings.listeners, [](const ListenerSettings& l) { return !l.tls; });
  if (acme.challenge == acme::Challenge::http_01 && !any_plain) {
    out.push_back({"acme.challenge", "\"http-01\" needs a listener without TLS",
                   "the CA asks at port 80: write a [[listener]] with tls = false", "", true});
  }
  if (!any_tls) {
    out.push_back({"acme", "has no effect: no listener takes TLS", "", "", true});
  }
  if (!acme.on_demand.ask.empty() && acme.on_demand.wait >= settings.tls.handshake_timeout) {
    out.push_back({"acme.on_demand.wait", "is not shorter than tls.handshake_timeout",
                   "the handshake would be cut before it could be answered"});
  }
  return out;
}

}  // namespace pqedge::edge
