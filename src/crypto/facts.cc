// What a finished handshake was, into the connection's facts and the counters.
#include <array>
#include <string>

#include "base/counters.h"
#include "base/log.h"
#include "crypto/callbacks.h"
#include "crypto/code_names.h"
#include "crypto/groups.h"
#include "crypto/host_policy.h"

namespace pqedge::crypto {
namespace {

using counters::Counter;

// Facts hold static strings; these are the protocols that listeners can be given.
constexpr std::string_view kProtocols[] = {"h2", "http/1.1", "h3", "http/1.0", "acme-tls/1"};

std::string_view protocol_name(const SSL* ssl) {
  const unsigned char* chosen = nullptr;
  unsigned int size = 0;
  SSL_get0_alpn_selected(ssl, &chosen, &size);
  // Without ALPN the client means HTTP/1.1 (it went no further over QUIC).
  if (chosen == nullptr) return "http/1.1";
  for (const std::string_view name : kProtocols) {
    if (name == as_text({chosen, size})) return name;
  }
  return {};
}

enum Version : uint8_t { kTls13, kTls12, kVersions };
enum Carrier : uint8_t { kTcp, kQuic, kCarriers };

enum Extent : uint8_t { kFull, kResumed, kExtents };  // with a certificate, or without

// Of one kind of handshake over one transport.
struct CostHistograms {
  counters::Histogram seconds;
  counters::SizeHistogram in;
  counters::SizeHistogram out;
};

// Every series is registered at start, and there is no other: labels are ours, never a client's.
struct HandshakeCounters {
  // By group of known_groups(); the last is for a group that is not in it.
  static constexpr size_t kGroups = 16;
  std::array<std::array<std::array<Counter, kGroups>, kCarriers>, kVersions> done;
  std::array<Counter, kCarriers> resumed;
  std::array<Counter, kCarriers> early_data;
  std::array<Counter, kCarriers> retried;
  // By scheme of signature_scheme_names(); the last is for one that is not in it.
  static constexpr size_t kSignatures = 32;
  std::array<std::array<Counter, kSignatures>, kCarriers> signatures;
  std::array<std::array<CostHistograms, kExtents>, kCarriers> cost;
  Counter downgraded;
  Counter classical_only;

  HandshakeCounters();
  void add_group(size_t index, std::string_view name, bool tls12);
  void add_carrier(size_t carrier, const std::string& name);
};

constexpr std::string_view kCarrierNames[] = {"tcp", "quic"};

HandshakeCounters::HandshakeCounters() {
  size_t index = 0;
  for (const Group& group : known_groups()) add_group(index++, group.name, group.tls12);
  add_group(kGroups - 1, "other", true);
  for (size_t c = 0; c < kCarriers; ++c) add_carrier(c, std::string(kCarrierNames[c]));
  constexpr std::string_view kName = "pqedge_tls_classical_handshakes_total";
  constexpr std::string_view kHelp = "TLS handshakes that ended on a group without ML-KEM";
  downgraded = Counter(kName, kHelp, {{"client", "offered_post_quantum"}});
  classical_only = Counter(kName, kHelp, {{"client", "classical_only"}});
}

void HandshakeCounters::add_carrier(size_t carrier, const std::string& name) {
  const counters::Label transport{"transport", name};
  resumed[carrier] =
      Counter("pqedge_tls_resumptions_total", "TLS handshakes that resumed a session", {transport});
  early_data[carrier] = Counter("pqedge_tls_early_data_handshakes_total",
                                "TLS handshakes whose early data was accepted", {transport});
  retried[carrier] = Counter("pqedge_tls_hello_retries_total",
                             "TLS handshakes that took a HelloRetryRequest", {transport});
  const auto signature = [&](std::string_view scheme) {
    return Counter("pqedge_tls_signatures_total",
                   "TLS handshakes by the algorithm that the server signed with",
                   {{"signature", std::string(scheme)}, transport});
  };
  size_t index = 0;
  for (const CodeName& scheme : signature_scheme_names()) {
    signatures[carrier][index++] = signature(scheme.name);
  }
  signatures[carrier].back() = signature("other");
  constexpr std::string_view kBytes = "pqedge_tls_handshake_bytes";
  constexpr std::string_view kBytesHelp = "bytes of a completed TLS handshake";
  for (const bool again : {false, true}) {
    const counters::Label kind{"kind", again ? "resumed" : "full"};
    cost[carrier][again ? kResumed : kFull] = {
        counters::Histogram("pqedge_tls_handshake_seconds", "time of a completed TLS handshake",
                            {kind, transport}),
        counters::SizeHistogram(kBytes, kBytesHelp, {{"direction", "in"}, kind, transport}),
        counters::SizeHistogram(kBytes, kBytesHelp, {{"direction", "out"}, kind, transport})};
  }
}

void HandshakeCounters::add_group(size_t index, std::string_view name, bool tls12) {
  for (size_t c = 0; c < kCarriers; ++c) {
    for (size_t v = 0; v < kVersions; ++v) {
      if (v == kTls12 && (!tls12 || c == kQuic)) continue;
      done[v][c][index] = Counter("pqedge_tls_handshakes_total", "TLS handshakes completed",
                                  {{"group", std::string(name)},
                                   {"transport", std::string(kCarrierNames[c])},
                                   {"version", v == kTls13 ? "TLSv1.3" : "TLSv1.2"}});
    }
  }
}

size_t group_index(std::string_view name) {
  size_t index = 0;
  for (const Group& group : known_groups()) {
    if (group.name == name) return index;
    ++index;
  }
  return HandshakeCounters::kGroups - 1;
}

size_t signature_index(std::string_view name) {
  size_t index = 0;
  for (const CodeName& scheme : signature_scheme_names()) {
    if (scheme.name == name) return index;
    ++index;
  }
  return HandshakeCounters::kSignatures - 1;
}

const HandshakeCounters handshake_counters;

// Of what this side signed with; empty where nothing was signed.
std::string_view signature_of(SSL* ssl) {
  const char* name = nullptr;
  if (SSL_session_reused(ssl) == 1 || SSL_get0_signature_name(ssl, &name) != 1 || name == nullptr) {
    return {};
  }
  const std::string_view known = known_signature_scheme(name);
  return known.empty() ? "other" : known;
}

void note_cost(const net::ConnectionFacts& facts, Carrier carrier) {
  const CostHistograms& cost = handshake_counters.cost[carrier][facts.resumed ? kResumed : kFull];
  cost.seconds.observe_micros(facts.handshake_time / kMicrosecond);
  cost.in.observe(facts.handshake_in);
  cost.out.observe(facts.handshake_out);
}

}  // namespace

void read_facts(SSL* ssl, net::ConnectionFacts& facts) {
  facts.tls_version = SSL_get_version(ssl);
  facts.cipher = SSL_CIPHER_standard_name(SSL_get_current_cipher(ssl));
  const char* name = SSL_get0_group_name(ssl);
  const Group* group = name == nullptr ? nullptr : find_group(std::string_view(name));
  facts.group = group == nullptr ? std::string_view() : group->name;
  facts.post_quantum = group != nullptr && group->post_quantum;
  facts.signature = signature_of(ssl);
  facts.alpn = protocol_name(ssl);
  facts.resumed = SSL_session_reused(ssl) == 1;
  facts.early_data = SSL_get_early_data_status(ssl) == SSL_EARLY_DATA_ACCEPTED;
  if (const HostPolicy* policy = host_policy_of(ssl)) {
    facts.policy = policy->fingerprint;
    facts.client_asked = policy->authority != nullptr;
    if (facts.client_asked) facts.client = read_client_certificate(ssl);
  }
}

void note_handshake(const SSL* ssl, const net::ConnectionFacts& facts) {
  const Carrier carrier = facts.transport == net::Transport::quic ? kQuic : kTcp;
  const Version version = facts.tls_version == "TLSv1.3" ? kTls13 : kTls12;
  handshake_counters.done[version][carrier][group_index(facts.group)].add();
  if (facts.resumed) handshake_counters.resumed[carrier].add();
  if (facts.early_data) handshake_counters.early_data[carrier].add();
  if (facts.hello_retry) handshake_counters.retried[carrier].add();
  if (!facts.signature.empty()) {
    handshake_counters.signatures[carrier][signature_index(facts.signature)].add();
  }
  note_cost(facts, carrier);
  if (facts.post_quantum) return;
  (facts.offered_post_quantum ? handshake_counters.downgraded : handshake_counters.classical_only)
      .add();
  const HostPolicy* policy = host_policy_of(ssl);
  if (policy == nullptr ||
      classical_action(policy->settings, facts.offered_post_quantum) != ClassicalAction::log) {
    return;
  }
  log::info("tls", "{}: {} with {}: the client {}", facts.peer.ip(), facts.tls_version, facts.group,
            facts.offered_post_quantum ? "offers post-quantum groups, but none of those served here"
                                       : "offers no post-quantum group");
}

}  // namespace pqedge::crypto
