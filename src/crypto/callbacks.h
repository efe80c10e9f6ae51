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
  std::vector<uint16_t> post_quantum_groups;  // of the settings, as code points
};

// Of the context that `ssl` was made from; null for a foreign one.
const Policy* policy_of(const SSL* ssl);
SessionState* session_of(const SSL* ssl);

// Installs the callbacks. `policy` must outlive the context.
void install_callbacks(SSL_CTX* context, const Policy& policy, bool quic);

// Puts the certificate on the context: what a connection has unless its name wants another.
Result<void> set_default_certificate(SSL_CTX* context, const Certificate& certificate);

}  // namespace pqedge::crypto
