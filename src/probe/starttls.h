// The talk in the clear that comes before TLS in SMTP (RFC 3207) and IMAP (RFC 9051 6.2.1).
#pragma once

#include "base/result.h"
#include "base/time.h"
#include "probe/options.h"

namespace pqedge::probe {

// Talks up to the point where the ClientHello is next.
Result<void> start_tls(int socket, StartTls protocol, Nanos deadline);

}  // namespace pqedge::probe
