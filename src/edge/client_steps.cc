#include "edge/client_steps.h"

#include <algorithm>

#include "base/text.h"
#include "base/time.h"
#include "crypto/host_policy.h"
#include "edge/exchange.h"

namespace pqedge::edge {
namespace {

bool has_expired(const net::ClientCertificate& client) {
  return client.not_after < static_cast<int64_t>(wall_now() / kSecond);
}

// "*.a.test" stands for one label (RFC 9525 6.3). DNS names are in lower case in a certificate that
// was read; others are compared as they are.
bool name_fits(std::string_view wanted, std::string_view name) {
  if (!wanted.starts_with("*.")) return wanted == name || iequals(wanted, name);
  const size_t dot = name.find('.');
  return dot != name.npos && dot > 0 && !name.contains('@') && !name.contains('/') &&
         iequals(wanted.substr(1), name.substr(dot));
}

bool any_name_fits(const std::vector<std::string>& wanted, const net::ClientCertificate& client) {
  return std::ranges::any_of(wanted, [&](const std::string& w) {
    return std::ranges::any_of(client.names,
                               [&](const std::string& name) { return name_fits(w, name); });
  });
}

}  // namespace

bool takes_client(const route::RouteSettings& route, const net::ConnectionFacts& facts) {
  const net::ClientCertificate* client = facts.client.get();
  if (!facts.secure() || !facts.client_asked || client == nullptr) return false;
  // A fingerprint names one certificate, whoever issued it; its key was proven in the handshake.
  const auto has_fingerprint = [&](const std::string& wanted) {
    return iequals(wanted, client->fingerprint);
  };
  if (std::ranges::any_of(route.client_fingerprints, has_fingerprint)) return true;
  if (!client->verified) return false;
  const bool by_list = !route.client_subjects.empty() || !route.client_names.empty() ||
                       !route.client_fingerprints.empty();
  if (!by_list) return true;
  return std::ranges::contains(route.client_subjects, client->subject) ||
         any_name_fits(route.client_names, *client);
}

Verdict check_tls_policy(Exchange& x) {
  const net::ConnectionFacts& facts = x.facts();
  const crypto::PolicySet& policies = *x.snapshot().policies;
  const std::string_view host = x.request().host;
  if (!facts.secure()) {
    // Without TLS nobody can show a certificate; a redirect to where one can is no disclosure.
    const bool redirected = x.plan().settings != nullptr && x.plan().settings->redirect_https;
    const crypto::HostPolicy& policy = policies.find(host);
    if (redirected || policy.authority == nullptr ||
        policy.settings.client_auth.mode != crypto::ClientAuth::required) {
      return Verdict::next;
    }
    x.answer(421, "the host is for clients with a certificate, over TLS");
    return Verdict::answered;
  }
  if (!policies.serves(facts, host)) {
    x.answer(421, "the TLS policy of the host is not the connection's");
    return Verdict::answered;
  }
  if (facts.client != nullptr && facts.client->verified && has_expired(*facts.client)) {
    x.answer(421, "the client's certificate has expired since the handshake");
    return Verdict::answered;
  }
  return Verdict::next;
}

Verdict check_client(Exchange& x) {
  if (takes_client(*x.plan().settings, x.facts())) return Verdict::next;
  const net::ClientCertificate* client = x.facts().client.get();
  x.answer(403, client == nullptr   ? std::string_view("the route wants a client certificate")
                : !client->verified ? "the client's certificate is not verified"
                                    : "the route is not for this client certificate");
  return Verdict::answered;
}

}  // namespace pqedge::edge
