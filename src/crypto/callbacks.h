// What OpenSSL calls back during a handshake: judging the hello, choosing certificate and protocol,
// sealing tickets. Shared by the TCP and the QUIC context of a policy.
#pragma once

#include <memory>

#include "crypto/certificates_internal.h"
#include "crypto/keylog.h"
#include "crypto/settings.h"
#include "crypto/tickets.h"
#include "crypto/tls.h"

namespace pqedge::crypto {

// What the callbacks of one policy need; the application data of both contexts.
struct Policy {
  TlsSettings settings;
  std::shared_ptr<const CertificateStore> store;
  std::shared_ptr<TicketKeyRing> tickets;
  std::shared_ptr<const KeyLog> keylog;  // may be null
  HandshakeServices services;
  std::shared_ptr<const PolicySet> policies;  // the default, which the contexts hold, and of hosts
};

// Of the context that `ssl` was made from; null for a foreign one.
const Policy* policy_of(const SSL* ssl);
SessionState* session_of(const SSL* ssl);

// on_hello.cc: sees the hello raw, then decides.
void on_message(int sent, int version, int content_type, const void* data, size_t size, SSL* ssl,
                void*);
int on_client_hello(SSL* ssl, int* alert, bool quic);

// Installs the callbacks. `policy` must outlive the context.
void install_callbacks(SSL_CTX* context, const Policy& policy, bool quic);

// on_certificate.cc: chooses the certificate, and pauses where it has to be waited for.
int on_certificate(SSL* ssl, void*);

// Puts the certificate on the context: what a connection has unless its name wants another.
Result<void> set_default_certificate(SSL_CTX* context, const Certificate& certificate);

}  // namespace pqedge::crypto
