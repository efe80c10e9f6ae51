// The certificate callback: which certificate a handshake gets, and whether it has to wait for it
// or for its signature. Once a full handshake, twice with a HelloRetryRequest; never when one is
// resumed.
#include "base/counters.h"
#include "crypto/callbacks.h"
#include "crypto/certificate_extras.h"

namespace pqedge::crypto {
namespace {

// What OpenSSL makes of our answer.
constexpr int kGoOn = 1;
constexpr int kFail = 0;    // internal_error
constexpr int kPause = -1;  // SSL_ERROR_WANT_X509_LOOKUP

counters::Counter slow_signatures(const char* result) {
  return counters::Counter("pqedge_slow_signatures_total",
                           "handshakes whose signature takes long, by what became of them",
                           {{"result", result}});
}
const counters::Counter signed_elsewhere = slow_signatures("queued");
const counters::Counter given_another = slow_signatures("other_certificate");
const counters::Counter refused = slow_signatures("refused");

bool put_in_place(SSL* ssl, SessionState& state, const Policy& policy, const CertificateRef& one) {
  // The default is there already. Another takes the place of all: the library would choose among
  // several by its own order.
  if (SSL_get_certificate(ssl) != one->leaf.get()) {
    SSL_certs_clear(ssl);
    if (SSL_use_cert_and_key(ssl, one->leaf.get(), one->key.get(), one->chain.get(), 1) != 1) {
      return false;
    }
  }
  state.certificate = one;
  add_certificate_extras(ssl, state, policy.settings);
  return true;
}

// Whether it was asked for, and the handshake waits.
bool waits_for_certificate(const Policy& policy, SessionState& state) {
  const auto& requester = policy.services.requester;
  if (requester == nullptr || state.pause == nullptr) return false;
  if (state.requested == 1) return true;
  const std::string& host = state.facts->sni;
  if (state.requested != 0 || host.empty() || policy.store->covers(host)) return false;
  state.requested = 1;
  if (requester->request(host, state.facts->peer, state.pause->resume())) return true;
  state.requested = 2;
  return false;
}

// After a HelloRetryRequest the client's share is still to come, and with it the signature.
bool signs_now(SSL* ssl) {
  EVP_PKEY* share = nullptr;
  if (SSL_version(ssl) < TLS1_3_VERSION) return true;
  if (SSL_get_peer_tmp_key(ssl, &share) != 1) return false;
  EVP_PKEY_free(share);
  return true;
}

CertificateRef choose(const Policy& policy, const SessionState& state, bool avoid_slow) {
  if (state.acme_challenge) return policy.store->find_challenge(state.facts->sni);
  return policy.store->choose({state.facts->sni, state.signatures, avoid_slow});
}

}  // namespace

int on_certificate(SSL* ssl, void*) {
  SessionState* state = session_of(ssl);
  if (state == nullptr) return kFail;
  // On a signing thread: all is in place, and nothing else may be touched.
  if (state->signing == Signing::granted) return kGoOn;
  if (state->signing == Signing::wanted) return kPause;
  const Policy* policy = policy_of(ssl);
  if (policy == nullptr) return kFail;
  if (!state->acme_challenge && waits_for_certificate(*policy, *state)) return kPause;
  // A CA that looks at a challenge has no certificate to show.
  if (state->acme_challenge) SSL_set_verify(ssl, SSL_VERIFY_NONE, nullptr);

  const bool can_wait = policy->services.signer != nullptr && state->pause != nullptr;
  const bool denied = state->signing == Signing::refused;
  CertificateRef one = choose(*policy, *state, denied);
  if (one == nullptr) return kFail;
  if (!one->slow || !can_wait || (!denied && !signs_now(ssl))) {
    if (denied && !one->slow) given_another.add();
    return put_in_place(ssl, *state, *policy, one) ? kGoOn : kFail;
  }
  if (!denied) {
    state->place = policy->services.signer->reserve(state->facts->peer);
    if (state->place != nullptr) {
      if (!put_in_place(ssl, *state, *policy, one)) return kFail;
      state->signing = Signing::wanted;
      signed_elsewhere.add();
      return kPause;
    }
    state->signing = Signing::refused;
    one = choose(*policy, *state, true);
    if (!one->slow) {
      given_another.add();
      return put_in_place(ssl, *state, *policy, one) ? kGoOn : kFail;
    }
  }
  refused.add();
  return kFail;
}

}  // namespace pqedge::crypto
