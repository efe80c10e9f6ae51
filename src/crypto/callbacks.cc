#include "crypto/callbacks.h"

#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/params.h>
#include <openssl/rand.h>

#include <cstring>

#include "base/text.h"
#include "crypto/certificate_extras.h"
#include "crypto/on_ticket.h"

namespace pqedge::crypto {
namespace {

int session_index() {
  static const int index = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  return index;
}

template <bool kQuic>
int client_hello_callback(SSL* ssl, int* alert, void*) {
  return on_client_hello(ssl, alert, kQuic);
}

// ---- protocol --------------------------------------------------------------------------------

// RFC 7301 3.2: our preference among what the client offers, or a fatal alert.
int on_alpn(SSL* ssl, const unsigned char** out, unsigned char* out_size, const unsigned char* in,
            unsigned int in_size, void*) {
  end_certificate_extras();
  const SessionState* state = session_of(ssl);
  if (state == nullptr) return SSL_TLSEXT_ERR_ALERT_FATAL;
  if (state->acme_challenge && in_size > 1) {  // the one that there is
    *out = in + 1;
    *out_size = in[0];
    return SSL_TLSEXT_ERR_OK;
  }
  // A listener without HTTP: what is spoken inside is not known here.
  if (state->alpn->empty()) return SSL_TLSEXT_ERR_NOACK;
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
  SSL_CTX_set_client_hello_cb(
      context, quic ? client_hello_callback<true> : client_hello_callback<false>, nullptr);
  SSL_CTX_set_cert_cb(context, on_certificate, nullptr);
  SSL_CTX_set_alpn_select_cb(context, on_alpn, nullptr);
  SSL_CTX_set_tlsext_ticket_key_evp_cb(context, on_ticket);
  SSL_CTX_set_session_ticket_cb(context, on_new_ticket, nullptr, nullptr);
  if (policy.keylog != nullptr) SSL_CTX_set_keylog_callback(context, on_secret);
}

}  // namespace pqedge::crypto
