#include "edge/connection_steps.h"

#include <string_view>

#include "base/counters.h"
#include "crypto/policy.h"
#include "edge/exchange.h"

namespace pqedge::edge {
namespace {

constexpr std::string_view kClassicalPage =
    "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>403 Forbidden</title>\n"
    "<h1>This site needs a newer browser</h1>\n"
    "<p>The connection is protected by a key exchange that a quantum computer could break later. "
    "This site accepts only connections with a post-quantum key exchange (ML-KEM, for example "
    "X25519MLKEM768). Current versions of the major browsers offer it; a proxy or an antivirus "
    "program between you and this site may take it away.</p>\n";

struct EarlyRequestCounters {
  counters::Counter used{"pqedge_early_data_requests_total",
                         "Requests that came before the client's handshake was complete.",
                         {{"action", "answered"}}};
  counters::Counter waited{"pqedge_early_data_requests_total",
                           "Requests that came before the client's handshake was complete.",
                           {{"action", "waited"}}};
};
const EarlyRequestCounters early_requests;

}  // namespace

Verdict check_scheme(Exchange& x) {
  if (x.request().method == http::Method::connect) return Verdict::next;  // it has none
  if (x.request().scheme != (x.facts().secure() ? "https" : "http")) {
    x.answer(421, "the scheme is not the connection's");
    return Verdict::answered;
  }
  return Verdict::next;
}

Verdict check_key_exchange(Exchange& x) {
  const net::ConnectionFacts& facts = x.facts();
  if (!facts.secure() || facts.post_quantum) return Verdict::next;
  const crypto::TlsSettings& policy = x.snapshot().policies->find(x.request().host).settings;
  switch (crypto::classical_action(policy, facts.offered_post_quantum)) {
    case crypto::ClassicalAction::forbid:
      x.answer_with(
          {.status = 403, .body = kClassicalPage, .content_type = "text/html; charset=utf-8"},
          "the key exchange is not post-quantum");
      return Verdict::answered;
    case crypto::ClassicalAction::misdirect:
      x.answer(421, "the key exchange is not post-quantum");
      return Verdict::answered;
    default: return Verdict::next;
  }
}

Verdict check_early_data(Exchange& x) {
  if (!x.facts().handshake_pending) return Verdict::next;
  if (http::is_safe(x.request().method) && x.request().body == http::BodyKind::none &&
      x.request().upgrade.empty()) {
    early_requests.used.add();
    x.note_early_data();
    return Verdict::next;
  }
  early_requests.waited.add();
  x.wait_for_handshake();
  return Verdict::wait;
}

}  // namespace pqedge::edge
