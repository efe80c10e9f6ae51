// Judges the ClientHello, finds the policy of the host that it asks for, and puts that in place.
#include <algorithm>

#include "base/counters.h"
#include "base/text.h"
#include "crypto/callbacks.h"
#include "crypto/certificate_compression.h"
#include "crypto/certificate_extras.h"
#include "crypto/client_hello.h"
#include "crypto/ech.h"
#include "crypto/host_policy.h"
#include "crypto/policy.h"
#include "crypto/server_name.h"

namespace pqedge::crypto {
namespace {

// Whether the handshake will end on one of our groups with ML-KEM: the tuples put them first, so it
// is enough that the client lists one, in TLS 1.3.
bool shares_post_quantum(const ClientHello& hello, const HostPolicy& policy) {
  if (!hello.supported_versions.contains(TLS1_3_VERSION)) return false;
  return std::ranges::any_of(policy.post_quantum_groups, [&](uint16_t group) {
    return hello.supported_groups.contains(group);
  });
}

// RFC 8737 3: a CA that looks at a challenge names this protocol alone, over TCP.
bool is_acme_challenge(const ClientHello& hello, const Policy& policy, const SessionState& state) {
  if (!hello.has_alpn || state.facts->transport != net::Transport::tls) return false;
  size_t protocols = 0;
  bool named = false;
  for (const ProtocolName& protocol : hello.alpn) {
    ++protocols;
    named = protocol.name == kAcmeProtocol;
  }
  return named && protocols == 1 && policy.store->find_challenge(state.facts->sni) != nullptr;
}

// Which hello is judged: the one that was sent, or the one within it (RFC 9849).
enum class Layer : uint8_t { sent, inner };

HelloVerdict judge_hello(Bytes message, const Policy& policy, SessionState& state,
                         Layer layer = Layer::sent) {
  const auto hello = parse_client_hello(message);
  if (!hello) return HelloVerdict::malformed;
  state.sent_quic_parameters = hello->has_quic_parameters;
  std::string name;
  if (hello->has_server_name &&
      judge_server_name(hello->server_name, name) == NameVerdict::malformed) {
    return HelloVerdict::bad_server_name;
  }
  if (state.hello == HelloVerdict::accepted) {
    // After a HelloRetryRequest (RFC 8446 4.1.2): what was decided by the first hello must hold.
    state.facts->hello_retry = true;
    const bool outer = layer == Layer::sent && state.facts->ech == net::EchUse::accepted;
    const bool same = name == (outer ? state.facts->outer_sni : state.facts->sni) &&
                      hello->has_alpn == (outer ? state.outer_sent_alpn : state.sent_alpn);
    return same ? HelloVerdict::accepted : HelloVerdict::changed;
  }
  // The one look-up of a policy by name, for TCP and QUIC. Who names no host gets the default.
  state.policy = &policy.policies->find(name);
  state.facts->sni = std::move(name);
  state.signatures = client_signatures(*hello);
  state.signatures.leaf &= state.policy->signature_schemes;
  state.sent_alpn = hello->has_alpn;
  state.acme_challenge = is_acme_challenge(*hello, policy, state);
  state.certificate_encodings = offered_certificate_encodings(*hello);
  state.facts->offered_post_quantum = offers_post_quantum(*hello);
  const ClassicalAction action =
      classical_action(state.policy->settings, state.facts->offered_post_quantum);
  if (state.acme_challenge) return HelloVerdict::accepted;  // a CA's client may be classical
  return action == ClassicalAction::refuse && !shares_post_quantum(*hello, *state.policy)
             ? HelloVerdict::classical
             : HelloVerdict::accepted;
}

counters::Counter ech_counter(const char* result) {
  return counters::Counter("pqedge_tls_ech_total", "Encrypted Client Hellos", {{"result", result}});
}

// The hello within an encrypted one decides in everything: name, policy, protocol. What is wrong
// with the outer one ends the handshake all the same.
[[maybe_unused]] void judge_inner(SSL* ssl, const Policy& policy, SessionState& state) {
  static const counters::Counter inner_accepted = ech_counter("accepted");
  static const counters::Counter inner_refused = ech_counter("refused");
  if (state.hello != HelloVerdict::accepted && state.hello != HelloVerdict::classical) return;
  const net::EchUse use = ech_use(ssl);
  net::ConnectionFacts& facts = *state.facts;
  if (!facts.hello_retry) {
    facts.ech = use;
    if (use == net::EchUse::refused) inner_refused.add();
    if (use != net::EchUse::accepted) return;
    inner_accepted.add();
    facts.outer_sni = std::move(facts.sni);
    state.outer_sent_alpn = state.sent_alpn;
    state.hello = HelloVerdict::none;
  } else if (use != facts.ech) {
    state.hello = HelloVerdict::changed;
    return;
  }
  if (use == net::EchUse::accepted) {
    state.hello = judge_hello(current_hello(ssl), policy, state, Layer::inner);
  }
}

bool offers(const AlpnList& alpn, std::string_view name) {
  for (const std::string& ours : alpn) {
    if (ours == name) return true;
  }
  return false;
}

// A hello without ALPN means HTTP/1.1 over TCP, if that is offered; QUIC needs it (RFC 9001 8.1).
bool protocol_missing(const SessionState& state, bool quic) {
  if (state.sent_alpn) return false;
  return quic || !offers(*state.alpn, "http/1.1");
}

// A context holds the default policy; another is put on the SSL before anything of the hello was
// acted on. What cannot be put in place ends the handshake: a host's policy is never half there.
bool put_in_place(SSL* ssl, const Policy& policy, SessionState& state, bool quic) {
  if (state.policy == nullptr) return false;
  if (state.policy == &policy.policies->base() || state.policy_in_place) return true;
  state.policy_in_place = apply_policy(ssl, *state.policy, quic);
  return state.policy_in_place;
}

}  // namespace

// Sees every handshake message as it came, before OpenSSL reads it: the one place where the hello
// is raw and whole, over TCP and QUIC.
void on_message(int sent, int, int content_type, const void* data, size_t size, SSL* ssl, void*) {
  if (sent != 0 || content_type != SSL3_RT_HANDSHAKE || size == 0) return;
  const auto* bytes = static_cast<const uint8_t*>(data);
  if (bytes[0] != SSL3_MT_CLIENT_HELLO) return;
  SessionState* state = session_of(ssl);
  const Policy* policy = policy_of(ssl);
  if (state != nullptr && policy != nullptr) {
    state->hello = judge_hello({bytes, size}, *policy, *state);
  }
}

// A hello that our reader did not accept, or that it never saw (an SSLv2 frame), goes no further:
// it must not fall to whatever a policy gives to clients that name nothing (K2).
int on_client_hello(SSL* ssl, int* alert, bool quic) {
  SessionState* state = session_of(ssl);
  const Policy* policy = policy_of(ssl);
  *alert = SSL_AD_INTERNAL_ERROR;
  if (state == nullptr || policy == nullptr) return SSL_CLIENT_HELLO_ERROR;
  if constexpr (kHasEch) judge_inner(ssl, *policy, *state);
  if (state->hello == HelloVerdict::accepted && protocol_missing(*state, quic)) {
    state->hello = HelloVerdict::no_protocol;
  }
  // OpenSSL would go on without them, and QUIC cannot (RFC 9001 8.2).
  if (state->hello == HelloVerdict::accepted && quic && !state->sent_quic_parameters) {
    state->hello = HelloVerdict::no_parameters;
  }
  if (state->hello == HelloVerdict::accepted && !put_in_place(ssl, *policy, *state, quic)) {
    state->hello = HelloVerdict::policy_failed;
  }
  switch (state->hello) {
    case HelloVerdict::accepted:
      begin_certificate_extras(policy->settings);
      return SSL_CLIENT_HELLO_SUCCESS;
    case HelloVerdict::none:
    case HelloVerdict::malformed: *alert = SSL_AD_DECODE_ERROR; break;
    case HelloVerdict::bad_server_name:
    case HelloVerdict::changed: *alert = SSL_AD_ILLEGAL_PARAMETER; break;
    case HelloVerdict::no_protocol: *alert = SSL_AD_NO_APPLICATION_PROTOCOL; break;
    case HelloVerdict::no_parameters: *alert = SSL_AD_MISSING_EXTENSION; break;
    case HelloVerdict::policy_failed: break;
    case HelloVerdict::classical: *alert = SSL_AD_INSUFFICIENT_SECURITY; break;
  }
  return SSL_CLIENT_HELLO_ERROR;
}

}  // namespace pqedge::crypto
