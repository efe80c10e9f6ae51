#include "jobs/acme/challenge.h"

#include "base/base64.h"
#include "base/log.h"
#include "jobs/acme/certificate_request.h"
#include "jobs/acme/dns_update.h"
#include "jobs/acme/hook.h"

namespace pqedge::acme {

std::string_view to_text(Challenge challenge) {
  switch (challenge) {
    case Challenge::http_01: return "http-01";
    case Challenge::tls_alpn_01: return "tls-alpn-01";
    case Challenge::dns_01: return "dns-01";
  }
  return "?";
}

// RFC 8555 8.1: the answer binds the token to our account's key.
Result<void> ShownChallenges::show(const std::string& name, const std::string& token) {
  const std::string answer = token + "." + session_.key().thumbprint();
  Shown one{name, token, {}};
  Result<void> done = {};
  switch (session_.settings().challenge) {
    case Challenge::http_01: done = responder_.add_token(token, answer); break;
    case Challenge::tls_alpn_01: {
      auto pem = make_challenge_certificate(name, answer);
      if (!pem) return std::unexpected(pem.error());
      done = responder_.add_challenge(name, *pem);
      break;
    }
    case Challenge::dns_01:
      one.value = base64url(sha256(answer));
      done = change_record(one, true);
      break;
  }
  // Also after a failure: half of it may be there.
  shown_.push_back(std::move(one));
  return done;
}

ShownChallenges::~ShownChallenges() {
  for (const Shown& one : shown_) {
    switch (session_.settings().challenge) {
      case Challenge::http_01: responder_.remove_token(one.token); break;
      case Challenge::tls_alpn_01: responder_.remove_challenge(one.name); break;
      case Challenge::dns_01:
        if (const auto ok = change_record(one, false); !ok) {
          log::warning("acme", "{}: the TXT record of the challenge stays: {}", one.name,
                       ok.error().message);
        }
        break;
    }
  }
}

Result<void> ShownChallenges::change_record(const Shown& one, bool add) const {
  const DnsSettings& dns = session_.settings().dns;
  const std::string record = "_acme-challenge." + one.name;
  if (dns.server) return update_dns(dns, record, one.value, add);
  HookCall call;
  call.command = dns.hook;
  call.environment = {{"PQEDGE_ACME_ACTION", add ? "present" : "cleanup"},
                      {"PQEDGE_ACME_NAME", one.name},
                      {"PQEDGE_ACME_RECORD", record},
                      {"PQEDGE_ACME_VALUE", one.value}};
  call.timeout = dns.hook_timeout;
  // A record that was made is taken away even when the process stops.
  if (add) call.stop = session_.stop_flag();
  return run_hook(call);
}

}  // namespace pqedge::acme
