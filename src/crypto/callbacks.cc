#include "crypto/callbacks.h"

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/params.h>
#include <openssl/rand.h>

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "crypto/client_hello.h"
#include "crypto/policy.h"
#include "crypto/server_name.h"
#include "crypto/ticket_cipher.h"

namespace pqedge::crypto {
namespace {

int session_index() {
  static const int index = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  return index;
}

// ---- the hello -------------------------------------------------------------------------------

// Whether the handshake will end on one of our groups with ML-KEM: the tuples put them first, so it
// is enough that the client lists one, in TLS 1.3.
bool shares_post_quantum(const ClientHello& hello, const Policy& policy) {
  if (!hello.supported_versions.contains(TLS1_3_VERSION)) return false;
  return std::ranges::any_of(policy.post_quantum_groups, [&](uint16_t group) {
    return hello.supported_groups.contains(group);
  });
}

HelloVerdict judge_hello(Bytes message, const Policy& policy, SessionState& state) {
  const auto hello = parse_client_hello(message);
  if (!hello) return HelloVerdict::malformed;
  std::string name;
  if (hello->has_server_name &&
      judge_server_name(hello->server_name, name) == NameVerdict::malformed) {
    return HelloVerdict::bad_server_name;
  }
  if (state.hello == HelloVerdict::accepted) {
    // After a HelloRetryRequest (RFC 8446 4.1.2): what was decided by the first hello must hold.
    state.facts->hello_retry = true;
    const bool same = name == state.facts->sni && hello->has_alpn == state.sent_alpn;
    return same ? HelloVerdict::accepted : HelloVerdict::changed;
  }
  state.facts->sni = std::move(name);
  state.sent_alpn = hello->has_alpn;
  state.facts->offered_post_quantum = offers_post_quantum(*hello);
  const ClassicalAction action =
      classical_action(policy.settings, state.facts->offered_post_quantum);
  return action == ClassicalAction::refuse && !shares_post_quantum(*hello, policy)
             ? HelloVerdict::classical
             : HelloVerdict::accepted;
}

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

// A hello that our reader did not accept, or that it never saw (an SSLv2 frame), goes no further:
// it must not fall to whatever a policy gives to clients that name nothing (K2).
template <bool kQuic>
int on_client_hello(SSL* ssl, int* alert, void*) {
  SessionState* state = session_of(ssl);
  *alert = SSL_AD_INTERNAL_ERROR;
  if (state == nullptr) return SSL_CLIENT_HELLO_ERROR;
  if (state->hello == HelloVerdict::accepted && protocol_missing(*state, kQuic)) {
    state->hello = HelloVerdict::no_protocol;
  }
  switch (state->hello) {
    case HelloVerdict::accepted:
      return SSL_CLIENT_HELLO_SUCCESS;
    case HelloVerdict::none:
    case HelloVerdict::malformed:
      *alert = SSL_AD_DECODE_ERROR;
      break;
    case HelloVerdict::bad_server_name:
    case HelloVerdict::changed:
      *alert = SSL_AD_ILLEGAL_PARAMETER;
      break;
    case HelloVerdict::no_protocol:
      *alert = SSL_AD_NO_APPLICATION_PROTOCOL;
      break;
    case HelloVerdict::classical:
      *alert = SSL_AD_INSUFFICIENT_SECURITY;
      break;
  }
  return SSL_CLIENT_HELLO_ERROR;
}

// ---- certificate and protocol ----------------------------------------------------------------

int on_certificate(SSL* ssl, void*) {
  const Policy* policy = policy_of(ssl);
  const SessionState* state = session_of(ssl);
  if (policy == nullptr || state == nullptr) return 0;
  const Certificate& wanted = policy->store->find(state->facts->sni);
  if (SSL_get_certificate(ssl) == wanted.leaf.get()) return 1;  // the default, already in place
  SSL_certs_clear(ssl);  // or the default's would be chosen where its key type suits better
  return SSL_use_cert_and_key(ssl, wanted.leaf.get(), wanted.key.get(), wanted.chain.get(), 1);
}

// RFC 7301 3.2: our preference among what the client offers, or a fatal alert.
int on_alpn(SSL* ssl, const unsigned char** out, unsigned char* out_size, const unsigned char* in,
            unsigned int in_size, void*) {
  const SessionState* state = session_of(ssl);
  if (state == nullptr) return SSL_TLSEXT_ERR_ALERT_FATAL;
  for (const std::string& ours : *state->alpn) {
    for (unsigned int at = 0; at < in_size && at + in[at] < in_size; at += 1 + in[at]) {
      if (as_text({in + at + 1, in[at]}) != ours) continue;
      *out = in + at + 1;
      *out_size = in[at];
      return SSL_TLSEXT_ERR_OK;
    }
  }
  return SSL_TLSEXT_ERR_ALERT_FATAL;
}

// ---- tickets ---------------------------------------------------------------------------------

bool set_ticket_mac(EVP_MAC_CTX* mac, const TicketKey& key) {
  char digest[] = "SHA256";
  const OSSL_PARAM params[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
      OSSL_PARAM_construct_end(),
  };
  return EVP_MAC_init(mac, key.mac.data(), key.mac.size(), params) == 1;
}

constexpr int kTicketError = -1;
constexpr int kTicketUnknown = 0;  // a full handshake
constexpr int kTicketGood = 1;
constexpr int kTicketRenew = 2;

int seal_ticket(TicketKeyRing& ring, unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher,
                EVP_MAC_CTX* mac) {
  TicketKey key = ring.current(ring.now());
  std::memcpy(name, key.name.data(), key.name.size());
  const bool ok = RAND_bytes(iv, EVP_CIPHER_get_iv_length(ticket_cipher())) == 1 &&
                  EVP_EncryptInit_ex2(cipher, ticket_cipher(), key.key.data(), iv, nullptr) == 1 &&
                  set_ticket_mac(mac, key);
  OPENSSL_cleanse(&key, sizeof key);
  return ok ? kTicketGood : kTicketError;
}

int open_ticket(SSL* ssl, TicketKeyRing& ring, const unsigned char* name, const unsigned char* iv,
                EVP_CIPHER_CTX* cipher, EVP_MAC_CTX* mac) {
  auto found = ring.find(name, ring.now());
  if (!found) return kTicketUnknown;
  const bool ok =
      EVP_DecryptInit_ex2(cipher, ticket_cipher(), found->key.key.data(), iv, nullptr) == 1 &&
      set_ticket_mac(mac, found->key);
  OPENSSL_cleanse(&found->key, sizeof found->key);
  if (!ok) return kTicketError;
  // A TLS 1.3 client uses a ticket once (RFC 8446 C.4): it gets another with each resumption.
  return found->renew || SSL_version(ssl) >= TLS1_3_VERSION ? kTicketRenew : kTicketGood;
}

int on_ticket(SSL* ssl, unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher,
              EVP_MAC_CTX* mac, int seal) {
  const Policy* policy = policy_of(ssl);
  if (policy == nullptr) return kTicketError;
  TicketKeyRing& ring = *policy->tickets;
  return seal != 0 ? seal_ticket(ring, name, iv, cipher, mac)
                   : open_ticket(ssl, ring, name, iv, cipher, mac);
}

// ---- debugging -------------------------------------------------------------------------------

void on_secret(const SSL* ssl, const char* line) {
  const Policy* policy = policy_of(ssl);
  const SessionState* state = session_of(ssl);
  if (policy == nullptr || state == nullptr) return;
  policy->keylog->write(state->facts->peer, line);
}

}  // namespace

const Policy* policy_of(const SSL* ssl) {
  return static_cast<const Policy*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
}

SessionState* session_of(const SSL* ssl) {
  return static_cast<SessionState*>(SSL_get_ex_data(ssl, session_index()));
}

void attach_session(SSL* ssl, SessionState* state) { SSL_set_ex_data(ssl, session_index(), state); }

Result<void> set_default_certificate(SSL_CTX* context, const Certificate& certificate) {
  clear_errors();
  if (SSL_CTX_use_cert_and_key(context, certificate.leaf.get(), certificate.key.get(),
                               certificate.chain.get(), 1) == 1) {
    return {};
  }
  return fail("{}: OpenSSL cannot use the certificate for TLS: {}",
              certificate.file.empty() ? "the certificate" : certificate.file,
              take_openssl_error());
}

void install_callbacks(SSL_CTX* context, const Policy& policy, bool quic) {
  SSL_CTX_set_app_data(context, const_cast<Policy*>(&policy));
  SSL_CTX_set_msg_callback(context, on_message);
  SSL_CTX_set_client_hello_cb(context, quic ? on_client_hello<true> : on_client_hello<false>,
                              nullptr);
  SSL_CTX_set_cert_cb(context, on_certificate, nullptr);
  SSL_CTX_set_alpn_select_cb(context, on_alpn, nullptr);
  SSL_CTX_set_tlsext_ticket_key_evp_cb(context, on_ticket);
  if (policy.keylog != nullptr) SSL_CTX_set_keylog_callback(context, on_secret);
}

}  // namespace pqedge::crypto
