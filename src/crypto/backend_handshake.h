// The parts of a TLS handshake with a backend that are the same over TCP (tls_client_stream.h) and
// QUIC (wire/quic/client_connection.h).
#pragma once

#include <openssl/ssl.h>

#include "crypto/backend_tls.h"

namespace pqedge::crypto {

// Gives a new SSL of `options.context` what its hello says, what the server's certificate is held
// to, and where its tickets go: `options.sessions` outlives the SSL. `learned` is then the group
// whose share is sent beside those of the settings (0: none).
bool set_up_backend_hello(SSL* ssl, const BackendTlsStreamOptions& options, uint16_t& learned);

// After the handshake. Remembers the group that the server asked for by a HelloRetryRequest.
BackendTlsFacts read_backend_facts(SSL* ssl, const BackendTlsStreamOptions& options,
                                   uint16_t learned);

// Of the first error in the thread's queue, and of an alert that the server sent (RFC 8446 6).
BackendFault fault_of_error(const SSL* ssl, unsigned long error);
BackendFault fault_of_alert(int alert);
// `ssl` may be null: then the verdict on the certificate is not told.
Error describe_fault(BackendFault fault, const SSL* ssl, unsigned long error);

// For contexts: keeps what the server sends after the handshake.
int on_backend_session(SSL* ssl, SSL_SESSION* session);

}  // namespace pqedge::crypto
