// What the codec toward backends counts.
#pragma once

#include "base/counters.h"

namespace pqedge::http2 {

extern const counters::Counter kGoaways;         // received
extern const counters::Counter kRefusedStreams;  // by GOAWAY or REFUSED_STREAM
extern const counters::Counter kBadConnections;  // ended since the backend broke the protocol
extern const counters::Counter kDeadPeers;       // ended for want of an answer to PING

}  // namespace pqedge::http2
