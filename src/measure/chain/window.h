// How many round trips a flight takes when the sender's window is all that holds it.
#pragma once

#include <cstddef>

#include "measure/record/record.h"

namespace pqedge::measure {

// Round trips beyond the first until `bytes` are sent: the window doubles with each, as slow start
// does when every segment is acknowledged (RFC 5681 3.1) and nothing is lost.
unsigned extra_round_trips(size_t bytes, size_t window);

// Against `segments` times `segment` bytes (RFC 6928).
WindowVerdict tcp_window(size_t flight, size_t segment, size_t segments);

// Before the client's address is validated: three times what it sent (RFC 9000 8.1). The extra
// round trips are those that were seen.
WindowVerdict quic_credit(size_t flight, size_t received, size_t datagram, unsigned seen);

// The window of a sender whose peer is validated (RFC 9002 7.2): a Retry, or a token from before.
WindowVerdict quic_window(size_t flight, size_t datagram);

}  // namespace pqedge::measure
