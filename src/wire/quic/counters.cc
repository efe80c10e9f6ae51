#include "wire/quic/counters.h"

namespace pqedge::quic::counters {
namespace {

using pqedge::counters::Kind;

Counter dropped(const char* why) {
  return Counter("pqedge_quic_datagrams_dropped_total", "UDP datagrams that were not taken",
                 {{"reason", why}});
}

Counter answer(const char* kind) {
  return Counter("pqedge_quic_stateless_answers_total",
                 "datagrams sent without a connection, by what they carried", {{"kind", kind}});
}

}  // namespace

const Counter datagrams_received{"pqedge_quic_datagrams_received_total", "UDP datagrams received"};
const Counter datagrams_sent{"pqedge_quic_datagrams_sent_total", "UDP datagrams sent"};
const Counter sends{"pqedge_quic_sends_total",
                    "runs of packets written for one connection at once"};

const Counter connections_accepted{"pqedge_quic_connections_total",
                                   "QUIC connections whose first packet was taken"};
const Counter connections_open{
    "pqedge_quic_connections", "QUIC connections, handshakes included", {}, Kind::gauge};
const Counter handshakes_open{
    "pqedge_quic_handshakes", "unfinished QUIC handshakes", {}, Kind::gauge};
const Counter handshakes_failed{"pqedge_quic_handshakes_failed_total",
                                "QUIC handshakes that failed"};
const Counter handshakes_timed_out{"pqedge_quic_handshakes_timed_out_total",
                                   "QUIC handshakes that took too long"};
const Counter amplification_waits{
    "pqedge_quic_amplification_waits_total",
    "QUIC handshakes whose first flight was longer than three times what the client had sent, and "
    "waited for more of it (RFC 9000 8.1)"};
const Counter idle_timeouts{"pqedge_quic_idle_timeouts_total",
                            "QUIC connections that ended in silence"};
const Counter migrations{"pqedge_quic_migrations_total", "validated changes of a client's address"};

const Counter version_negotiations = answer("version_negotiation");
const Counter retries = answer("retry");
const Counter stateless_resets = answer("stateless_reset");
const Counter refused = answer("refused");
const Counter tokens_accepted{
    "pqedge_quic_tokens_total", "address validation tokens by verdict", {{"verdict", "accepted"}}};
const Counter tokens_rejected{
    "pqedge_quic_tokens_total", "address validation tokens by verdict", {{"verdict", "rejected"}}};
const Counter dropped_malformed = dropped("malformed");
const Counter dropped_unknown = dropped("unknown_connection");
const Counter dropped_admission = dropped("admission");
const Counter dropped_half_open = dropped("half_open");
const Counter dropped_rate = dropped("rate");
const Counter handed_over{"pqedge_quic_handed_over_total",
                          "datagrams of another worker's connections, by direction",
                          {{"direction", "out"}}};
const Counter received_handed_over{"pqedge_quic_handed_over_total",
                                   "datagrams of another worker's connections, by direction",
                                   {{"direction", "in"}}};

}  // namespace pqedge::quic::counters
