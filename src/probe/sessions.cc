#include "probe/sessions.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/text.h"
#include "crypto/certificate_compression.h"
#include "crypto/code_names.h"
#include "crypto/groups.h"
#include "probe/hello.h"

namespace pqedge::probe {
namespace {

// Schemes of TLS 1.3 (RFC 8446 4.2.3, and ML-DSA), in the order in which they are asked for.
constexpr std::array<uint16_t, 14> kSchemes = {0x0905, 0x0906, 0x0904, 0x0807, 0x0808,
                                               0x0403, 0x0503, 0x0603, 0x0804, 0x0805,
                                               0x0806, 0x0809, 0x080a, 0x080b};
// A hello with these fits one segment.
constexpr const char* kClassicalGroups = "X25519:P-256:P-384";
constexpr std::array<uint16_t, 4> kClassical = {0x001d, 0x0017, 0x0018, 0x0019};

SessionAsk usual(const Report& report) {
  SessionAsk asked;
  if (!report.usual_groups.empty()) asked.groups = report.usual_groups;
  return asked;
}

std::string scheme_list(const std::vector<uint16_t>& schemes) {
  std::string list;
  for (const uint16_t scheme : schemes) {
    if (!list.empty()) list += ':';
    list += crypto::signature_scheme_name(scheme);
  }
  return list;
}

// Adds a scheme to the chain that it was seen with.
void add_chain(Report& report, uint16_t signature, ChainReport chain) {
  for (ChainReport& known : report.chains) {
    if (known.leaf != chain.leaf) continue;
    if (signature != 0 && !std::ranges::contains(known.signatures, signature)) {
      known.signatures.push_back(signature);
    }
    return;
  }
  if (signature != 0) chain.signatures.push_back(signature);
  report.chains.push_back(std::move(chain));
}

// The first of `wanted` that the server accepts and the library here has.
const crypto::Group* pick(const Report& report, bool post_quantum) {
  for (const uint16_t code : report.groups) {
    const crypto::Group* group = crypto::find_group(code);
    if (group == nullptr || group->post_quantum != post_quantum) continue;
    if (!post_quantum && !std::ranges::contains(kClassical, code)) continue;
    if (crypto::is_available(*group)) return group;
  }
  return nullptr;
}

}  // namespace

unsigned signature_connections() { return static_cast<unsigned>(kSchemes.size()) + 1; }

Result<void> ask_main(Dialer& dialer, Report& report) {
  const bool http = dialer.options().starttls == StartTls::none;
  SessionAsk asked;
  asked.wait_for_ticket = true;
  asked.http_request = http;
  if (http) asked.alpn = {"http/1.1"};
  SessionResult first = open_session(dialer, asked);
  if (!first.connected) return fail("{}", first.error);
  if (!first.completed && http) {  // a server of HTTP/2 alone, or of no HTTP
    asked.alpn.clear();
    asked.http_request = false;
    first = open_session(dialer, asked);
  }
  report.hybrid_client = {.yes = first.completed, .detail = first.error};
  if (!first.completed) {
    report.usual_groups = asked.groups = kClassicalGroups;
    first = open_session(dialer, asked);
  }
  if (!first.completed) return fail("no handshake of TLS 1.2 or 1.3: {}", first.error);
  report.default_group = first.seen.group;
  report.default_retry = first.seen.retry;
  if (first.alpn == "http/1.1") report.alpn.push_back(first.alpn);
  report.alt_svc = first.alt_svc;
  report.alt_svc_h3_port = http3_port(first.alt_svc);
  add_chain(report, first.seen.signature, std::move(first.chain));

  report.resumption.tickets = first.seen.tickets;
  if (first.ticket == nullptr) return {};
  report.resumption.lifetime =
      static_cast<uint32_t>(SSL_SESSION_get_ticket_lifetime_hint(first.ticket.get()));
  report.resumption.early_data = SSL_SESSION_get_max_early_data(first.ticket.get());
  asked.http_request = asked.wait_for_ticket = false;
  asked.resume = first.ticket.get();
  const SessionResult again = open_session(dialer, asked);
  report.resumption.resumed = {.yes = again.completed && again.resumed, .detail = again.error};
  if (again.resumed) report.resumption.group = again.seen.group;
  return {};
}

// As with groups: the scheme that the server used is left out of the next hello.
void ask_signatures(Dialer& dialer, Report& report) {
  std::vector<uint16_t> schemes(kSchemes.begin(), kSchemes.end());
  while (!schemes.empty()) {
    SessionAsk asked = usual(report);
    asked.signatures = scheme_list(schemes);
    SessionResult result = open_session(dialer, asked);
    if (!result.completed || std::erase(schemes, result.seen.signature) == 0) return;
    add_chain(report, result.seen.signature, std::move(result.chain));
  }
}

void ask_alpn(Dialer& dialer, Report& report) {
  SessionAsk asked = usual(report);
  asked.alpn = {"h2"};
  if (open_session(dialer, asked).alpn != "h2") return;
  report.alpn.emplace_back("h2");
  if (report.alpn.size() < 2) return;
  // The client's order is the other one.
  asked.alpn = {report.alpn[0], report.alpn[1]};
  const SessionResult both = open_session(dialer, asked);
  if (both.alpn == report.alpn[1]) std::swap(report.alpn[0], report.alpn[1]);
}

void ask_compression(Dialer& dialer, Report& report) {
  for (const int algorithm :
       {TLSEXT_comp_cert_zlib, TLSEXT_comp_cert_brotli, TLSEXT_comp_cert_zstd}) {
    SessionAsk asked = usual(report);
    asked.compression = algorithm;
    asked.extras = false;  // a message made ahead is a server's only one
    // A library without brotli cannot unpack it: it is offered all the same, the message is seen,
    // and the handshake ends there.
    std::optional<crypto::BrotliKnown> known;
    if (algorithm == TLSEXT_comp_cert_brotli) known.emplace();
    const SessionResult result = open_session(dialer, asked);
    if (result.seen.compression.algorithm != 0) {
      report.compression.push_back(result.seen.compression);
    }
  }
}

void ask_ech(Dialer& dialer, Report& report) {
  SessionAsk asked = usual(report);
  asked.ech_grease = true;
  const SessionResult result = open_session(dialer, asked);
  report.ech.answered = {.yes = result.seen.ech_answered, .detail = result.error};
  if (!result.seen.ech_answered) return;
  auto configs = crypto::parse_ech_config_list(result.seen.ech_configs);
  if (configs) {
    for (crypto::EchConfig& config : *configs) {
      std::string shown;
      append_text_escaped(shown, config.public_name);
      config.public_name = std::move(shown);
    }
    report.ech.configs = std::move(*configs);
  } else {
    report.ech.answered.detail = configs.error().message;
  }
}

void ask_retry(Dialer& dialer, Report& report) {
  const crypto::Group* hybrid = pick(report, true);
  const crypto::Group* classical = pick(report, false);
  if (hybrid == nullptr || classical == nullptr) return;
  SessionAsk asked;
  // OpenSSL sends a share of the group with the asterisk, and of no other.
  asked.groups = std::string("*").append(classical->name).append(":").append(hybrid->name);
  const SessionResult result = open_session(dialer, asked);
  Finding& found = report.asks_for_post_quantum;
  report.retry_fails = !result.completed;
  if (!result.completed) {
    found = {.yes = false, .detail = "the handshake failed: " + result.error};
  } else {
    found = {.yes = is_ml_kem(result.seen.group), .detail = {}};
    if (!*found.yes) found.detail = "it kept to the share of " + group_label(result.seen.group);
  }
}

}  // namespace pqedge::probe
