// What OpenSSL calls back to seal and open session tickets (T6).
#pragma once

#include <openssl/ssl.h>

namespace pqedge::crypto {

// SSL_CTX_set_tlsext_ticket_key_evp_cb. A ticket under no key of ours means a full handshake.
int on_ticket(SSL* ssl, unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher,
              EVP_MAC_CTX* mac, int seal);

// SSL_CTX_set_session_ticket_cb: what a new ticket carries beside the session. Its application data
// is: a version (1), then, for 0-RTT, the issuing process's store of used tickets (16) and what the
// client remembers of the endpoint (16), then, with an encapsulation, the placeholder (1568).
int on_new_ticket(SSL* ssl, void*);

}  // namespace pqedge::crypto
