// What goes with a certificate when the client asks for it: an OCSP response (RFC 6066 8), signed
// certificate timestamps (RFC 6962 3.3), and the whole in compressed form (RFC 8879).
#pragma once

#include <openssl/ssl.h>

#include "base/result.h"
#include "crypto/tls.h"

namespace pqedge::crypto {

// Installs what OpenSSL calls for the OCSP response and the timestamps, and what the settings say
// of compression.
Result<void> install_certificate_extras(SSL_CTX* context, const TlsSettings& settings);

// At the start of a handshake, in the ClientHello callback, once the hello was accepted.
void begin_certificate_extras(const TlsSettings& settings);
// Once the hello's extensions were read, where no certificate is chosen: a session is resumed.
void end_certificate_extras();

// In the certificate callback, when `state.certificate` is the one that was put on the SSL: gives
// OpenSSL its compressed form where the client takes it.
void add_certificate_extras(SSL* ssl, SessionState& state, const TlsSettings& settings);

}  // namespace pqedge::crypto
