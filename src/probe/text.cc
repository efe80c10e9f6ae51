#include <ctime>
#include <format>
#include <string_view>

#include "crypto/code_names.h"
#include "probe/hello.h"
#include "probe/output.h"

namespace pqedge::probe {
namespace {

constexpr size_t kLabel = 22;  // columns

enum class Tone : uint8_t { plain, good, bad, faint, strong };

class Page {
 public:
  explicit Page(bool colour) : colour_(colour) {}

  std::string tinted(std::string_view text, Tone tone) const {
    if (!colour_ || tone == Tone::plain) return std::string(text);
    const char* code = tone == Tone::good    ? "32"
                       : tone == Tone::bad   ? "31"
                       : tone == Tone::faint ? "2"
                                             : "1";
    return std::format("\x1b[{}m{}\x1b[0m", code, text);
  }
  void heading(std::string_view text) { out += "\n" + tinted(text, Tone::strong) + "\n"; }
  void line(std::string_view label, std::string_view value, Tone tone = Tone::plain) {
    out += std::format("  {:<{}} {}\n", label, kLabel, tinted(value, tone));
  }
  // Yes or no, and why not. What was not asked is left out.
  void finding(std::string_view label, const Finding& f, std::string_view yes, std::string_view no,
               bool yes_is_good = true) {
    if (!f.yes) return;
    std::string value(*f.yes ? yes : no);
    if (!f.detail.empty()) value += " (" + f.detail + ")";
    line(label, value, *f.yes == yes_is_good ? Tone::good : Tone::bad);
  }

  std::string out;

 private:
  bool colour_;
};

std::string joined(const std::vector<std::string>& texts, std::string_view between = ", ") {
  std::string all;
  for (const std::string& text : texts) {
    if (!all.empty()) all += between;
    all += text;
  }
  return all;
}

void add_grade(Page& page, const Report& report, const Verdict& verdict) {
  const Tone tone = verdict.grade <= Grade::b ? Tone::good : Tone::bad;
  page.out += std::format("{}:{} ({}{}{})\n", report.host, report.port, report.address,
                          report.server_name.empty() ? "" : ", server name ", report.server_name);
  page.out += "grade " + page.tinted(std::string(1, letter(verdict.grade)), tone) +
              (report.ignore_trust ? " (without a look at trust)\n" : "\n");
  for (const Rule* rule : verdict.applied) {
    page.out += std::format("  at best {}: {}\n             {} ({})\n", letter(rule->cap),
                            rule->found, rule->reason, rule->source);
  }
}

void add_versions(Page& page, const Report& report) {
  page.heading("Versions");
  for (const VersionReport& v : report.versions) {
    const bool wanted = v.version >= kTls12;
    const std::string value =
        v.accepted ? "accepted, " + suite_label(v.cipher) : "not accepted (" + v.detail + ")";
    page.line(version_label(v.version), value,
              v.accepted == wanted ? (v.accepted ? Tone::good : Tone::plain)
              : v.accepted         ? Tone::bad
                                   : Tone::faint);
  }
  std::vector<std::string> suites;
  for (const uint16_t code : report.suites) suites.push_back(suite_label(code));
  if (!suites.empty()) page.line("TLS 1.3 suites", joined(suites));
  page.finding("RSA key transport", report.static_rsa, "accepted", "not accepted", false);
}

void add_key_exchange(Page& page, const Report& report) {
  page.heading("Key exchange");
  page.line("post-quantum", report.has_ml_kem() ? "yes" : "no",
            report.has_ml_kem() ? Tone::good : Tone::bad);
  std::vector<std::string> groups;
  for (const uint16_t code : report.groups) {
    groups.push_back(page.tinted(group_label(code), is_ml_kem(code) ? Tone::good : Tone::plain));
  }
  if (!groups.empty()) page.line("groups", joined(groups));
  if (!report.groups_detail.empty()) page.line("groups end with", report.groups_detail);
  if (report.own_order.yes) {
    page.line("order", *report.own_order.yes ? "the server's own" : "the client's");
  }
  if (report.default_group != 0) {
    page.line("usual client gets", group_label(report.default_group) +
                                       (report.default_retry ? ", by a HelloRetryRequest" : ""));
  }
  page.finding("hybrid client", report.hybrid_client, "connects", "does not connect");
  page.finding("classical share", report.asks_for_post_quantum,
               "asks for the post-quantum group (HelloRetryRequest)", "stays classical");
}

void add_chain(Page& page, const ChainReport& chain) {
  std::vector<std::string> schemes;
  for (const uint16_t code : chain.signatures) {
    schemes.push_back(crypto::signature_scheme_name(code));
  }
  page.line("signs with", joined(schemes));
  for (const CertificateReport& c : chain.certificates) {
    page.line("  certificate",
              std::format("{}, {} B, key {} ({} B), signed {}, until {}", c.subject, c.der, c.key,
                          c.public_key, c.signature, date_text(c.not_after)),
              c.weak ? Tone::bad : Tone::plain);
  }
  page.line("  sizes", std::format("{} B of certificates, message {} B, signature {} B", chain.der,
                                   chain.message, chain.signature));
  page.line("  trust", chain.trusted ? "trusted" : "not trusted: " + chain.trust,
            chain.trusted ? Tone::good : Tone::bad);
  page.line("  OCSP staple", chain.staple == 0 ? "none" : std::format("{} B", chain.staple));
  page.line("  SCTs", std::format("{} in the certificate, {} in the handshake",
                                  chain.scts_in_certificate, chain.scts_in_extension));
}

void add_certificates(Page& page, const Report& report) {
  page.heading("Certificates");
  for (const ChainReport& chain : report.chains) add_chain(page, chain);
  std::vector<std::string> forms;
  for (const CompressionReport& c : report.compression) {
    forms.push_back(std::format("{} ({} B for {} B)", crypto::compression_name(c.algorithm),
                                c.compressed, c.uncompressed));
  }
  page.line("compression", forms.empty() ? "none" : joined(forms));
}

void add_sessions(Page& page, const Report& report) {
  page.heading("Resumption");
  const ResumptionReport& r = report.resumption;
  page.line("tickets",
            r.tickets == 0 ? "none seen" : std::format("{}, for {} s", r.tickets, r.lifetime));
  page.finding("resumption", r.resumed, "works", "does not work");
  if (r.group != 0) page.line("its key exchange", group_label(r.group));
  page.line("0-RTT",
            r.early_data == 0 ? "not offered" : std::format("offered, {} B", r.early_data));
}

void add_http(Page& page, const Report& report) {
  page.heading("HTTP");
  page.line("ALPN", report.alpn.empty() ? "none of h2, http/1.1" : joined(report.alpn));
  if (!report.alt_svc.empty()) page.line("Alt-Svc", report.alt_svc);
  const QuicReport& q = report.quic;
  if (!q.accepted.yes) return;
  if (!*q.accepted.yes) return page.line("HTTP/3 over QUIC", "no (" + q.accepted.detail + ")");
  page.line("HTTP/3 over QUIC",
            "yes, " + group_label(q.group) + ", " + suite_label(q.cipher) +
                (q.retry_packet ? ", after a Retry packet" : ""),
            is_ml_kem(q.group) ? Tone::good : Tone::plain);
}

void add_ech(Page& page, const Report& report) {
  if (!report.ech.answered.yes) return;
  page.heading("Encrypted Client Hello");
  std::vector<std::string> names;
  for (const crypto::EchConfig& c : report.ech.configs) names.push_back(c.public_name);
  page.line("answer to GREASE", !*report.ech.answered.yes ? "none"
                                : names.empty()           ? report.ech.answered.detail
                                                          : "retry configs for " + joined(names));
}

void add_tolerance(Page& page, const Report& report) {
  if (!report.large_hello.yes) return;
  page.heading("Tolerance");
  page.finding("large hello", report.large_hello, "good", "fails");
  page.finding("in two segments", report.two_segments, "good", "fails");
  page.finding("in two records", report.two_records, "good", "fails");
  page.finding("unknown group", report.unknown_group, "passed over", "fails");
  page.finding("GREASE (RFC 8701)", report.grease, "passed over", "fails");
}

}  // namespace

std::string date_text(int64_t unix_seconds) {
  const auto seconds = static_cast<time_t>(unix_seconds);
  tm parts{};
  if (gmtime_r(&seconds, &parts) == nullptr) return "?";
  return std::format("{:04}-{:02}-{:02}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday);
}

std::string to_text(const Report& report, const Verdict& verdict, bool colour) {
  Page page(colour);
  add_grade(page, report, verdict);
  add_versions(page, report);
  add_key_exchange(page, report);
  add_certificates(page, report);
  add_sessions(page, report);
  add_http(page, report);
  add_ech(page, report);
  add_tolerance(page, report);
  page.out += std::format("\n{} connections were opened\n", report.connections);
  return std::move(page.out);
}

}  // namespace pqedge::probe
