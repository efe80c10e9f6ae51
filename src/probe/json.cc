#include <nlohmann/json.hpp>

#include "crypto/code_names.h"
#include "probe/hello.h"
#include "probe/output.h"

namespace pqedge::probe {
namespace {

using Json = nlohmann::ordered_json;

Json yes_or_null(const Finding& finding) {
  return finding.yes ? Json(*finding.yes) : Json(nullptr);
}

Json finding_json(const Finding& finding) {
  return {{"result", yes_or_null(finding)}, {"detail", finding.detail}};
}

// A code that was not seen is null.
Json group_json(uint16_t code) { return code == 0 ? Json(nullptr) : Json(group_label(code)); }
Json suite_json(uint16_t code) { return code == 0 ? Json(nullptr) : Json(suite_label(code)); }
Json scheme_json(uint16_t code) {
  return code == 0 ? Json(nullptr) : Json(crypto::signature_scheme_name(code));
}

Json versions_json(const Report& report) {
  Json all = Json::array();
  for (const VersionReport& v : report.versions) {
    all.push_back({{"version", version_label(v.version)},
                   {"accepted", v.accepted},
                   {"cipher", suite_json(v.cipher)},
                   {"detail", v.detail}});
  }
  return all;
}

Json groups_json(const Report& report) {
  Json all = Json::array();
  for (const uint16_t code : report.groups) {
    all.push_back({{"name", group_label(code)}, {"code", code}, {"post_quantum", is_ml_kem(code)}});
  }
  return all;
}

Json key_exchange_json(const Report& report) {
  return {{"post_quantum", report.has_ml_kem()},
          {"groups", groups_json(report)},
          {"groups_detail", report.groups_detail},
          {"own_order", finding_json(report.own_order)},
          {"hybrid_client", finding_json(report.hybrid_client)},
          {"default_group", group_json(report.default_group)},
          {"default_hello_retry", report.default_retry},
          {"asks_for_post_quantum", finding_json(report.asks_for_post_quantum)}};
}

Json certificate_json(const CertificateReport& c) {
  return {{"subject", c.subject},
          {"issuer", c.issuer},
          {"key", c.key},
          {"security_bits", c.bits},
          {"signature", c.signature},
          {"weak", c.weak},
          {"bytes", c.der},
          {"public_key_bytes", c.public_key},
          {"not_after", date_text(c.not_after)}};
}

Json chain_json(const ChainReport& chain) {
  Json signatures = Json::array();
  for (const uint16_t code : chain.signatures) signatures.push_back(scheme_json(code));
  Json certificates = Json::array();
  for (const CertificateReport& c : chain.certificates) certificates.push_back(certificate_json(c));
  return {{"signature_algorithms", signatures},
          {"certificates", certificates},
          {"bytes", chain.der},
          {"message_bytes", chain.message},
          {"signature_bytes", chain.signature},
          {"ocsp_staple_bytes", chain.staple},
          {"scts_in_extension", chain.scts_in_extension},
          {"scts_in_certificate", chain.scts_in_certificate},
          {"trusted", chain.trusted},
          {"trust_detail", chain.trust}};
}

Json compression_json(const Report& report) {
  Json all = Json::array();
  for (const CompressionReport& c : report.compression) {
    all.push_back({{"algorithm", crypto::compression_name(c.algorithm)},
                   {"bytes", c.compressed},
                   {"uncompressed_bytes", c.uncompressed}});
  }
  return all;
}

Json ech_json(const Report& report) {
  Json configs = Json::array();
  for (const crypto::EchConfig& c : report.ech.configs) {
    configs.push_back({{"public_name", c.public_name}, {"kem", c.kem}});
  }
  return {{"answered", finding_json(report.ech.answered)}, {"retry_configs", configs}};
}

Json http_json(const Report& report) {
  const QuicReport& q = report.quic;
  return {{"alpn", report.alpn},
          {"alt_svc", report.alt_svc},
          {"alt_svc_h3_port",
           report.alt_svc_h3_port == 0 ? Json(nullptr) : Json(report.alt_svc_h3_port)},
          {"quic",
           {{"accepted", finding_json(q.accepted)},
            {"group", group_json(q.group)},
            {"cipher", suite_json(q.cipher)},
            {"signature", scheme_json(q.signature)},
            {"retry_packet", q.retry_packet}}}};
}

Json tolerance_json(const Report& report) {
  return {{"large_hello", finding_json(report.large_hello)},
          {"two_segments", finding_json(report.two_segments)},
          {"two_records", finding_json(report.two_records)},
          {"unknown_group", finding_json(report.unknown_group)},
          {"grease", finding_json(report.grease)}};
}

Json resumption_json(const Report& report) {
  const ResumptionReport& r = report.resumption;
  return {{"tickets", r.tickets},
          {"lifetime_seconds", r.lifetime},
          {"early_data_bytes", r.early_data},
          {"resumed", finding_json(r.resumed)},
          {"group", group_json(r.group)}};
}

Json applied_json(const Verdict& verdict) {
  Json all = Json::array();
  for (const Rule* rule : verdict.applied) {
    all.push_back({{"rule", std::string(rule->id)},
                   {"at_best", std::string(1, letter(rule->cap))},
                   {"found", std::string(rule->found)},
                   {"reason", std::string(rule->reason)},
                   {"source", std::string(rule->source)}});
  }
  return all;
}

}  // namespace

std::string to_json(const Report& report, const Verdict& verdict) {
  Json suites = Json::array();
  for (const uint16_t code : report.suites) suites.push_back(suite_label(code));
  Json chains = Json::array();
  for (const ChainReport& chain : report.chains) chains.push_back(chain_json(chain));
  const Json all = {
      {"format", "pqedge-probe-1"},
      {"target",
       {{"host", report.host},
        {"port", report.port},
        {"address", report.address},
        {"server_name", report.server_name}}},
      {"grade", std::string(1, letter(verdict.grade))},
      {"trust_ignored", report.ignore_trust},
      {"rules", applied_json(verdict)},
      {"connections", report.connections},
      {"versions", versions_json(report)},
      {"tls13_cipher_suites", suites},
      {"static_rsa", finding_json(report.static_rsa)},
      {"key_exchange", key_exchange_json(report)},
      {"certificates", chains},
      {"certificate_compression", compression_json(report)},
      {"resumption", resumption_json(report)},
      {"http", http_json(report)},
      {"ech", ech_json(report)},
      {"tolerance", tolerance_json(report)},
  };
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace pqedge::probe
