#include "probe/grade.h"

#include <algorithm>
#include <format>
#include <functional>

#include "base/text.h"
#include "probe/hello.h"

namespace pqedge::probe {
namespace {

// Asked, and the answer was that.
bool is(const Finding& finding, bool answer) { return finding.yes && *finding.yes == answer; }

bool no_tls13(const Report& r) { return !r.accepts(kTls13); }
bool no_ml_kem(const Report& r) { return !r.has_ml_kem(); }
bool keeps_classical(const Report& r) {
  return is(r.asks_for_post_quantum, false) && !r.retry_fails;
}
bool prefers_classical(const Report& r) {
  return r.has_ml_kem() && !r.groups.empty() && !is_ml_kem(r.groups.front());
}
bool quic_classical(const Report& r) {
  return r.has_ml_kem() && is(r.quic.accepted, true) && !is_ml_kem(r.quic.group);
}
bool retry_fails(const Report& r) { return r.retry_fails; }
bool hybrid_client_fails(const Report& r) { return is(r.hybrid_client, false); }
bool hello_cannot_be_split(const Report& r) {
  return r.accepts(kTls13) &&
         (is(r.large_hello, false) || is(r.two_segments, false) || is(r.two_records, false));
}
bool intolerant(const Report& r) {
  return r.accepts(kTls13) && (is(r.unknown_group, false) || is(r.grease, false));
}
bool ssl3(const Report& r) { return r.accepts(kSsl3); }
bool old_tls(const Report& r) { return r.accepts(kTls10) || r.accepts(kTls11); }
bool static_rsa(const Report& r) { return is(r.static_rsa, true); }
bool untrusted(const Report& r) {
  return !r.ignore_trust &&
         (r.chains.empty() || std::ranges::none_of(r.chains, &ChainReport::trusted));
}
bool weak_certificate(const Report& r) {
  return std::ranges::any_of(r.chains, [](const ChainReport& chain) {
    return std::ranges::any_of(chain.certificates, &CertificateReport::weak);
  });
}

constexpr Rule kRules[] = {
    {"untrusted-certificate", Grade::f, "no chain of the server's is trusted for this name",
     "clients refuse the connection", "RFC 8446 4.4.2.4, RFC 9525", untrusted},
    {"ssl3", Grade::f, "SSL 3.0 is accepted", "it is broken", "RFC 7568 3", ssl3},
    {"weak-certificate", Grade::e,
     "a certificate has a key below 112 bits of security, or is signed with SHA-1 or MD5",
     "keys and digests of that strength have been broken or are within reach",
     "NIST SP 800-57 part 1, RFC 9155", weak_certificate},
    {"hybrid-client-fails", Grade::d, "a client that sends a post-quantum key share cannot connect",
     "current browsers send one, in a ClientHello above one TCP segment",
     "RFC 8446 4.2.8, tldr.fail", hybrid_client_fails},
    {"split-hello", Grade::d,
     "a ClientHello in two TCP segments or two TLS records, or a large one, is not understood",
     "a hello with a post-quantum key share does not fit one segment", "RFC 8446 5.1, tldr.fail",
     hello_cannot_be_split},
    {"intolerant", Grade::d,
     "a ClientHello with values that the server does not know (a group, RFC 8701's) fails",
     "servers must ignore them, or nothing new can be deployed", "RFC 8446 9.3, RFC 8701",
     intolerant},
    {"retry-fails", Grade::d, "the handshake after a HelloRetryRequest fails",
     "clients that do not send the wanted key share at once cannot connect", "RFC 8446 4.1.4",
     retry_fails},
    {"no-tls-1.3", Grade::d, "TLS 1.3 is not accepted",
     "post-quantum key exchange exists in TLS 1.3 only", "RFC 9325 3.1.1, RFC 10024", no_tls13},
    {"old-tls", Grade::c, "TLS 1.0 or 1.1 is accepted", "both are deprecated", "RFC 8996 4, 5",
     old_tls},
    {"static-rsa", Grade::c, "TLS 1.2 with RSA key transport is accepted",
     "who gets the certificate's key later reads all that was recorded", "RFC 9325 4.1",
     static_rsa},
    {"no-post-quantum", Grade::c, "no group with ML-KEM is accepted",
     "what is recorded today can be read once a large quantum computer exists",
     "RFC 10024, NIST IR 8547", no_ml_kem},
    {"keeps-classical-share", Grade::b,
     "a client that lists ML-KEM, but sends a classical key share, is left with the classical one",
     "a HelloRetryRequest would have given it the better group", "RFC 8446 4.1.1, 4.1.4",
     keeps_classical},
    {"prefers-classical", Grade::b, "a classical group is chosen before one with ML-KEM",
     "connections that could be safe against later decryption are not", "RFC 10024",
     prefers_classical},
    {"quic-classical", Grade::b, "over QUIC the key exchange is classical, over TCP it is not",
     "browsers move to HTTP/3 and lose the protection", "RFC 9001 4, RFC 10024", quic_classical},
};

}  // namespace

char letter(Grade grade) { return static_cast<char>('A' + static_cast<int>(grade)); }

std::optional<Grade> parse_grade(std::string_view text) {
  if (text.size() != 1) return std::nullopt;
  const char c = ascii_lower(text[0]);
  if (c < 'a' || c > 'f') return std::nullopt;
  return static_cast<Grade>(c - 'a');
}

std::span<const Rule> rules() { return kRules; }

Verdict judge(const Report& report) {
  Verdict verdict;
  for (const Rule& rule : kRules) {
    if (!rule.applies(report)) continue;
    verdict.grade = std::max(verdict.grade, rule.cap);
    verdict.applied.push_back(&rule);
  }
  std::ranges::stable_sort(verdict.applied, std::greater(), &Rule::cap);
  return verdict;
}

std::string rules_text() {
  std::string text = "| rule | at best | found | because | source |\n|---|---|---|---|---|\n";
  for (const Rule& rule : kRules) {
    text += std::format("| `{}` | {} | {} | {} | {} |\n", rule.id, letter(rule.cap), rule.found,
                        rule.reason, rule.source);
  }
  return text;
}

}  // namespace pqedge::probe
