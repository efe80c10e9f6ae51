// A handshake over QUIC version 1 with ALPN h3 (RFC 9000, RFC 9001, RFC 9114).
#pragma once

#include "probe/dial.h"
#include "probe/report.h"

namespace pqedge::probe {

// Asks the UDP port of the same number.
void ask_quic(Dialer& dialer, Report& report);

}  // namespace pqedge::probe
