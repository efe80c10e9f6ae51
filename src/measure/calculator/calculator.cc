#include "measure/calculator/calculator.h"

#include <algorithm>

#include "measure/calculator/side.h"

namespace pqedge::measure {
namespace {

constexpr double kHoursAMonth = 730;  // 8,760 hours a year, over 12
constexpr double kSecondsAMonth = kHoursAMonth * 3600;

constexpr std::string_view kLeftOut[] = {
    "DTLS (calls, WebRTC), EAP-TLS, SSH and IKEv2: this is HTTP over TLS and QUIC alone",
    "the CPU of everything but cryptography: TLS and QUIC themselves, the kernel, HTTP, the "
    "application",
    "session tickets (NewSessionTicket, and the ticket in a resuming hello)",
    "IP, TCP and UDP headers, acknowledgements and what is sent again",
    "HelloRetryRequest: a client that sends no share of the group pays one more round trip; "
    "'pqcost live' sees it",
    "timeouts at the end of a flight, queues and the path's bandwidth: under loss, latency is at "
    "least what is given",
    "clients slower than the measuring host: their part of the latency is this host's",
    "tokens on their way to backends, and what signs them",
    "middleboxes that drop large hellos, and what an incident costs",
};

class Builder {
 public:
  Builder(const Inputs& inputs, const SideFigures& before, const SideFigures& after)
      : in_(inputs),
        before_(before),
        after_(after),
        b_(costs_of(inputs, before)),
        a_(costs_of(inputs, after)) {}

  Calculation build() {
    latency();
    bytes();
    cores();
    money();
    notes();
    out_.left_out.assign(std::begin(kLeftOut), std::end(kLeftOut));
    return std::move(out_);
  }

 private:
  void group(std::string title) { out_.groups.push_back({std::move(title), {}}); }

  void add(std::string name, std::string unit, double SideCosts::* member,
           std::vector<std::string> sources, bool result = false) {
    add(std::move(name), std::move(unit), b_.*member, a_.*member, std::move(sources), result);
  }
  void add(std::string name, std::string unit, double before, double after,
           std::vector<std::string> sources, bool result = false) {
    out_.groups.back().terms.push_back(
        {std::move(name), std::move(unit), before, after, result, std::move(sources)});
  }
  void add_figure(std::string name, const Figure SideFigures::* member) {
    const Figure& b = before_.*member;
    const Figure& a = after_.*member;
    std::vector<std::string> sources;
    if (!b.source.empty()) sources.push_back("before: " + b.source);
    if (!a.source.empty()) sources.push_back("after: " + a.source);
    if (!sources.empty()) add(std::move(name), "us", b.value, a.value, std::move(sources));
  }
  std::vector<std::string> flights() const {
    std::vector<std::string> sources = {"before: " + before_.flight.source,
                                        "after: " + after_.flight.source};
    if (before_.mutual) sources.push_back("before: " + before_.mutual->source);
    if (after_.mutual) sources.push_back("after: " + after_.mutual->source);
    return sources;
  }
  bool tokens() const { return before_.token || after_.token; }

  void latency() {
    group("Latency, as the client sees it");
    const bool quic = in_.http == "3";
    add("round trips of the full handshake beyond the usual", "", b_.extra_round_trips,
        a_.extra_round_trips,
        {quic ? "seen in the captured flights: 3x credit (RFC 9000 8.1)"
              : "server flight against initial_window x segment, doubled with each round trip "
                "(RFC 6928, RFC 5681 3.1)"});
    add_figure("key exchange, both sides", &SideFigures::exchange);
    if (in_.loss > 0) {
      add("lost packets, full handshake, at least", "ms", &SideCosts::loss_full,
          {"packets x loss x rtt_ms"});
    }
    add("full handshake", "ms", &SideCosts::handshake_full,
        {"rtt_ms x (connect + 1 + those beyond) + key exchange + sign + 3 verifications + loss"},
        true);
    if (in_.resumption > 0) {
      add("resumed handshake", "ms", &SideCosts::handshake_resumed,
          {"rtt_ms x (connect + 1) + key exchange + loss"});
      if (in_.early_data > 0) {
        add("0-RTT, until the request may be sent", "ms", &SideCosts::handshake_early,
            {"rtt_ms x connect"});
      }
      add("handshake, mean of all connections", "ms", &SideCosts::handshake_mean,
          {"by resumption and early_data"}, true);
    }
    add("last byte of the first answer, full handshake", "ms", &SideCosts::last_byte_full,
        {"full handshake + rtt_ms x (1 + rounds of response_bytes) + loss"}, true);
    if (in_.resumption > 0) {
      add("last byte of the first answer, mean", "ms", &SideCosts::last_byte_mean,
          {"by resumption and early_data"}, true);
    }
  }

  void bytes() {
    group("Bytes");
    add("sent by the server, full handshake", "B", &SideCosts::out_full, flights());
    add("sent by the server, resumed handshake", "B", &SideCosts::out_resumed,
        {"the same flights without Certificate and CertificateVerify, with 6 bytes of "
         "pre_shared_key (RFC 8446 2.2, 4.2.11)"});
    add("received by the server, full handshake", "B", &SideCosts::in_full, flights());
    if (tokens())
      add("received in tokens, one connection", "B", &SideCosts::in_tokens, token_sources());
    add("sent in answers, one connection", "B", &SideCosts::responses,
        {"requests_per_connection x response_bytes"});
    add("handshakes sent", "GB a month", gigabytes(b_.out_mean), gigabytes(a_.out_mean),
        {"connections_per_second x mean bytes x 2,628,000 s / 10^9"}, true);
    add("egress, answers included", "GB a month", gigabytes(b_.out_mean + b_.responses),
        gigabytes(a_.out_mean + a_.responses), {"as above"}, true);
    if (tokens()) {
      add("tokens received", "GB a month", gigabytes(b_.in_tokens), gigabytes(a_.in_tokens),
          {"as above"}, true);
    }
  }

  void cores() {
    group("CPU of the server, cryptography alone");
    add_figure("key exchange, server's share", &SideFigures::exchange_server);
    add_figure("sign CertificateVerify", &SideFigures::sign);
    if (in_.client_certificates > 0) {
      add("check a client's certificate", "us", &SideCosts::cpu_client_certificate,
          {"before: " + before_.verify.source, "before: " + before_.verify_leaf.source,
           "before: " + before_.verify_intermediate.source, "after: " + after_.verify.source,
           "after: " + after_.verify_leaf.source, "after: " + after_.verify_intermediate.source});
    }
    add("full handshake", "us", &SideCosts::cpu_full, {"key exchange + sign"});
    add("resumed handshake", "us", &SideCosts::cpu_resumed, {"key exchange (psk_dhe_ke)"});
    if (tokens()) {
      add_figure("verify a token", &SideFigures::token_verify);
      add("tokens of one connection", "us", &SideCosts::cpu_tokens,
          {"requests_per_connection x token_share x verify"});
    }
    if (in_.response_bytes > 0) {
      add("encrypt answers of one connection", "us", &SideCosts::cpu_records,
          {before_.encrypt_byte.source});
    }
    add("mean connection", "us", &SideCosts::cpu_mean, {"by resumption and client_certificates"});
    add("cores", "cores", core_count(b_), core_count(a_),
        {"connections_per_second x mean connection / 10^6"}, true);
  }

  void money() {
    if (in_.egress_price_per_gb == 0 && in_.core_price_per_hour == 0) return;
    group("Money, in the currency of the prices");
    const double egress_b = gigabytes(b_.out_mean + b_.responses) * in_.egress_price_per_gb;
    const double egress_a = gigabytes(a_.out_mean + a_.responses) * in_.egress_price_per_gb;
    const double cores_b = core_count(b_) * in_.core_price_per_hour * kHoursAMonth;
    const double cores_a = core_count(a_) * in_.core_price_per_hour * kHoursAMonth;
    if (in_.egress_price_per_gb > 0) {
      add("egress", "a month", egress_b, egress_a, {"GB x egress_price_per_gb"});
    }
    if (in_.core_price_per_hour > 0) {
      add("cores", "a month", cores_b, cores_a, {"cores x core_price_per_hour x 730 h"});
    }
    add("together", "a month", egress_b + cores_b, egress_a + cores_a, {}, true);
  }

  void notes() {
    if (in_.egress_price_per_gb == 0) out_.notes.push_back("egress has no price: none was given");
    if (in_.core_price_per_hour == 0) out_.notes.push_back("cores have no price: none was given");
    if (in_.rtt_ms == 0) {
      out_.notes.push_back("rtt_ms is 0: latency is computing alone, round trips cost nothing");
    }
    for (const SideFigures* side : {&before_, &after_}) {
      const ChainRecord& chain = *side->flight.chain;
      for (const std::string& key : {chain.intermediate_algorithm, chain.root_algorithm}) {
        if (key.starts_with("RSA-")) {
          add_note(
              "RSA certificates are verified with PKCS #1 v1.5; the figure is PSS's, which "
              "does the same modular exponentiation");
        }
      }
    }
  }
  void add_note(std::string note) {
    if (std::ranges::find(out_.notes, note) == out_.notes.end())
      out_.notes.push_back(std::move(note));
  }

  std::vector<std::string> token_sources() const {
    std::vector<std::string> sources;
    if (before_.token) sources.push_back("before: " + before_.token->source);
    if (after_.token) sources.push_back("after: " + after_.token->source);
    return sources;
  }
  double gigabytes(double bytes_a_connection) const {
    return in_.connections_per_second * bytes_a_connection * kSecondsAMonth / 1e9;
  }
  double core_count(const SideCosts& c) const {
    return in_.connections_per_second * c.cpu_mean / 1e6;
  }

  const Inputs& in_;
  const SideFigures& before_;
  const SideFigures& after_;
  const SideCosts b_;
  const SideCosts a_;
  Calculation out_;
};

}  // namespace

Result<Calculation> calculate(const Inputs& inputs, const Figures& figures) {
  if (auto good = check_inputs(inputs); !good) return std::unexpected(good.error());
  const auto before = gather(inputs, inputs.before, figures);
  if (!before) return fail("before: {}", before.error().message);
  const auto after = gather(inputs, inputs.after, figures);
  if (!after) return fail("after: {}", after.error().message);
  return Builder(inputs, *before, *after).build();
}

}  // namespace pqedge::measure
