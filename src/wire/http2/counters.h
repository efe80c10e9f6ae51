// What this codec counts.
#pragma once

#include "base/counters.h"
#include "wire/http2/flood_budget.h"
#include "wire/http2/frame.h"

namespace pqedge::http2 {

// Connections ended because the flood budget was spent, by what spent it last.
const counters::Counter& floods(Charge charge);
// GOAWAY with an error, by its code.
const counters::Counter& connection_errors(ErrorCode code);
// Requests answered with 431 or 414 by the codec, and header bombs that ended the connection.
extern const counters::Counter kHeadsTooLarge;
extern const counters::Counter kHeaderBombs;
// Streams reset by us because of what the peer did with them.
extern const counters::Counter kProvokedResets;
// Streams and connections ended because the client took nothing for send_timeout.
extern const counters::Counter kStalledStreams;
extern const counters::Counter kStalledConnections;
extern const counters::Counter kHeaderTimeouts;
extern const counters::Counter kBodyTimeouts;

}  // namespace pqedge::http2
