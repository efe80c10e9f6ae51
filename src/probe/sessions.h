// What is asked by whole handshakes. Each function fills its part of the report and no other, so
// that several may run at once, but where it says otherwise.
#pragma once

#include "probe/quic.h"
#include "probe/report.h"
#include "probe/session.h"

namespace pqedge::probe {

// At most so many connections each.
inline constexpr unsigned kMainConnections = 4;
unsigned signature_connections();
inline constexpr unsigned kAlpnConnections = 2;
inline constexpr unsigned kCompressionConnections = 3;
inline constexpr unsigned kEchConnections = 1;
inline constexpr unsigned kRetryConnections = 1;
inline constexpr unsigned kQuicConnections = 1;

// The first of all: as a client like OpenSSL's connects. Then the same once more, with its ticket.
// Error: there is no TLS server, and why.
Result<void> ask_main(Dialer& dialer, Report& report);

void ask_signatures(Dialer& dialer, Report& report);
void ask_alpn(Dialer& dialer, Report& report);
void ask_compression(Dialer& dialer, Report& report);
void ask_ech(Dialer& dialer, Report& report);
// After ask_groups(): it takes a group with ML-KEM and a classical one from what that found.
void ask_retry(Dialer& dialer, Report& report);

}  // namespace pqedge::probe
