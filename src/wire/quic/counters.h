// What the QUIC layer counts. One set a process: the objects are handles on shared series.
#pragma once

#include "base/counters.h"

namespace pqedge::quic::counters {

using pqedge::counters::Counter;

extern const Counter datagrams_received;
extern const Counter datagrams_sent;
extern const Counter sends;  // packets of one connection written in one go (GSO)

extern const Counter connections_accepted;
extern const Counter connections_open;  // gauge
extern const Counter handshakes_open;   // gauge
extern const Counter handshakes_failed;
extern const Counter handshakes_timed_out;
extern const Counter amplification_waits;  // connections
extern const Counter idle_timeouts;
extern const Counter migrations;

extern const Counter version_negotiations;
extern const Counter retries;
extern const Counter tokens_accepted;
extern const Counter tokens_rejected;
extern const Counter stateless_resets;
extern const Counter refused;  // CONNECTION_REFUSED while draining
extern const Counter dropped_malformed;
extern const Counter dropped_unknown;  // of a connection that is not known here
extern const Counter dropped_admission;
extern const Counter dropped_half_open;
extern const Counter dropped_rate;  // an answer without a connection, over its rate
extern const Counter handed_over;
extern const Counter received_handed_over;

}  // namespace pqedge::quic::counters
