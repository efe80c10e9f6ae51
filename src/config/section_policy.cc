// What a TLS policy holds clients to: in [tls], [[tls_policy]], and of routes.
#include <filesystem>
#include <format>

#include "config/section_readers.h"

namespace pqedge::config {
namespace {

void read_files(Table& t, std::string_view key, std::vector<std::string>& out) {
  if (t.has(key)) out.clear();
  t.each_string(key, [&](const std::string& path, const std::string& text) {
    if (text.empty() || text.find('\0') != std::string::npos) {
      t.problem(path, "is not the name of a file");
      return;
    }
    const std::filesystem::path file = std::filesystem::path(t.reading().base_dir) / text;
    out.push_back(file.lexically_normal().string());
  });
}

// An empty list would not mean "the library's" where [tls] has one.
void refuse_empty(Table& t, const char* key, const std::vector<std::string>& list) {
  if (t.has(key) && list.empty()) {
    t.problem(t.key_path(key), "is empty", "leave it out, or give it a value");
  }
}

void read_client_auth(Table& t, crypto::ClientAuthSettings& s) {
  t.choice<crypto::ClientAuth>("client_auth", s.mode,
                               {{"off", crypto::ClientAuth::off},
                                {"optional", crypto::ClientAuth::optional},
                                {"required", crypto::ClientAuth::required},
                                {"request_any", crypto::ClientAuth::request_any}});
  t.path("client_ca", s.ca_file);
  read_files(t, "client_crls", s.crl_files);
  t.count("client_depth", s.depth);
  t.size("client_max_chain", s.max_chain);
  t.read("client_ca_names", s.ca_names);
}

}  // namespace

void read_policy(Table& t, crypto::TlsSettings& s) {
  t.choice<std::string>("min_version", s.min_version, {{"1.3", "1.3"}, {"1.2", "1.2"}});
  t.strings("groups", s.groups);
  for (const auto& [key, action] : {std::pair{"downgraded_clients", &s.downgraded_clients},
                                    std::pair{"classical_clients", &s.classical_clients}}) {
    t.choice<crypto::ClassicalAction>(key, *action,
                                      {{"allow", crypto::ClassicalAction::allow},
                                       {"log", crypto::ClassicalAction::log},
                                       {"refuse", crypto::ClassicalAction::refuse},
                                       {"403", crypto::ClassicalAction::forbid},
                                       {"421", crypto::ClassicalAction::misdirect}});
  }
  t.strings("ciphers", s.ciphers);
  refuse_empty(t, "ciphers", s.ciphers);
  t.strings("signature_algorithms", s.signature_algorithms);
  refuse_empty(t, "signature_algorithms", s.signature_algorithms);
  read_client_auth(t, s.client_auth);
}

// A key that is left out is as in [tls].
void read_host_policy(Table& t, size_t index, const crypto::TlsSettings& base,
                      crypto::HostPolicySettings& s) {
  s.name = std::format("policy-{}", index + 1);
  s.tls = base;
  t.read("name", s.name);
  t.require("hosts", "write hosts = [\"a.test\", \"*.b.test\"]");
  t.strings("hosts", s.hosts);
  read_policy(t, s.tls);
  // What [tls] says of client certificates falls away with them.
  if (s.tls.client_auth.mode == crypto::ClientAuth::off) {
    if (!t.has("client_ca")) s.tls.client_auth.ca_file.clear();
    if (!t.has("client_crls")) s.tls.client_auth.crl_files.clear();
  }
}

void read_route_clients(Table& t, route::RouteSettings& s) {
  t.read("client_certificate", s.client_certificate);
  t.strings("client_subjects", s.client_subjects);
  t.strings("client_names", s.client_names);
  t.strings("client_fingerprints", s.client_fingerprints);
  for (const auto& [key, list] : {std::pair{"client_subjects", &s.client_subjects},
                                  std::pair{"client_names", &s.client_names},
                                  std::pair{"client_fingerprints", &s.client_fingerprints}}) {
    refuse_empty(t, key, *list);
  }
}

void read_client_certificate_fields(Table& t, http::ClientCertificateFields& s) {
  t.read("verify", s.verify);
  t.read("subject", s.subject);
  t.read("issuer", s.issuer);
  t.read("san", s.san);
  t.read("serial", s.serial);
  t.read("fingerprint", s.fingerprint);
  t.read("certificate", s.certificate);
  t.read("chain", s.chain);
}

}  // namespace pqedge::config
