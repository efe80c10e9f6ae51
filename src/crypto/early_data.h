// 0-RTT (RFC 8446 2.3, RFC 8470): whether a client's early data is looked at (T7).
#pragma once

#include <openssl/ssl.h>

#include <array>

#include "base/result.h"
#include "crypto/callbacks.h"
#include "crypto/kem.h"
#include "crypto/replay_store.h"

namespace pqedge::crypto {

// What a ticket carries for it: the store of used tickets of the process that issued it, and a
// digest of the server name and of what the client remembers of the endpoint.
using EarlyDataMark = std::array<uint8_t, 32>;
EarlyDataMark early_data_mark(SSL* ssl, const Policy& policy);

// The application data of a ticket (on_ticket.h).
inline constexpr uint8_t kTicketDataVersion = 1;
inline constexpr size_t kMaxTicketData = 1 + sizeof(EarlyDataMark) + kKemCiphertextSize;

// Sets a context up for it, or not, as the policy says.
bool set_early_data(SSL_CTX* context, const Policy& policy, bool quic);

// SSL_CTX_set_allow_early_data_cb: called for a hello with early data whose ticket was opened,
// whose binder is right, which names the same host and protocol as the session, and whose ticket
// age fits within ten seconds. Counts what it says.
int on_early_data(SSL* ssl, void*);

// SSL_do_handshake() for what never calls SSL_read_early_data(): on QUIC, with early data allowed
// and none accepted, OpenSSL says once that it is done before the client's Finished has come.
int do_handshake(SSL* ssl);

// Once the handshake has completed: into `facts` whether early data was accepted or refused; counts
// what never got as far as on_early_data().
void note_early_data(SSL* ssl, const SessionState& state, net::ConnectionFacts& facts);

}  // namespace pqedge::crypto
