#include "wire/http2/client_counters.h"

namespace pqedge::http2 {

const counters::Counter kGoaways("pqedge_backend_http2_goaways_total",
                                 "GOAWAY frames received from backends");
const counters::Counter kRefusedStreams("pqedge_backend_http2_refused_streams_total",
                                        "HTTP/2 requests that a backend refused unprocessed");
const counters::Counter kBadConnections(
    "pqedge_backend_http2_protocol_errors_total",
    "HTTP/2 connections to backends that ended because the backend broke the protocol");
const counters::Counter kDeadPeers(
    "pqedge_backend_http2_dead_peers_total",
    "HTTP/2 connections to backends that ended because no answer to a PING came");

}  // namespace pqedge::http2
