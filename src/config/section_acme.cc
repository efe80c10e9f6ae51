// [acme], and a [[certificate]] that is obtained by it.
#include "base/text.h"
#include "config/section_readers.h"

namespace pqedge::config {
namespace {

void read_dns(Table& t, acme::DnsSettings& s) {
  t.strings("hook", s.hook);
  t.duration("hook_timeout", s.hook_timeout);
  std::vector<net::Address> servers;
  t.addresses("server", servers);
  if (!servers.empty()) s.server = servers.front();
  if (servers.size() > 1) {
    t.problem(t.key_path("server"), "names more than one server",
              "name the zones' primary: it passes changes on");
  }
  t.strings("zones", s.zones);
  for (std::string& zone : s.zones) zone = to_lower(zone);
  t.read("tsig_key", s.tsig_key);
  t.path("tsig_secret_file", s.tsig_secret_file);
  t.duration("propagation", s.propagation);
}

void read_on_demand(Table& t, acme::OnDemandSettings& s) {
  t.require("ask", "name the URL that says who may have a certificate");
  t.read("ask", s.ask);
  t.count("max_names", s.max_names);
  t.count("asks_per_minute", s.asks_per_minute);
  t.duration("wait", s.wait);
  t.duration("deny_for", s.deny_for);
}

}  // namespace

void read_acme(Table& t, acme::Settings& s) {
  using acme::Challenge;
  using acme::KeyType;
  s.present = !t.absent();
  t.read("directory", s.directory);
  t.read("email", s.email);
  t.require("accept_terms", "write accept_terms = true when you have read the CA's terms");
  t.read("accept_terms", s.accept_terms);
  t.require("storage", "name a folder for accounts and certificates");
  t.path("storage", s.storage);
  t.choice<Challenge>("challenge", s.challenge,
                      {{"http-01", Challenge::http_01},
                       {"tls-alpn-01", Challenge::tls_alpn_01},
                       {"dns-01", Challenge::dns_01}});
  t.choice<KeyType>("key_type", s.key_type,
                    {{"p256", KeyType::p256},
                     {"p384", KeyType::p384},
                     {"rsa2048", KeyType::rsa2048},
                     {"rsa3072", KeyType::rsa3072},
                     {"rsa4096", KeyType::rsa4096},
                     {"ml-dsa-44", KeyType::ml_dsa_44},
                     {"ml-dsa-65", KeyType::ml_dsa_65},
                     {"ml-dsa-87", KeyType::ml_dsa_87}});
  t.path("ca_file", s.ca_file);
  t.read("eab_key_id", s.eab_key_id);
  t.path("eab_key_file", s.eab_key_file);
  t.count("renew_percent_left", s.renew_percent_left);
  t.duration("retry_min", s.retry_min);
  t.duration("retry_max", s.retry_max);
  t.duration("timeout", s.timeout);
  t.table("dns", [&](Table& dns) { read_dns(dns, s.dns); });
  t.table("on_demand", [&](Table& on_demand) { read_on_demand(on_demand, s.on_demand); });
}

bool read_acme_certificate(Table& t, size_t index, crypto::CertificateSettings& certificate,
                           acme::Settings& s) {
  acme::CertificateSettings out;
  out.index = index;
  t.read("acme", certificate.acme);
  t.strings("names", out.names);
  if (!certificate.acme) {
    if (t.has("names")) {
      t.problem(t.key_path("names"), "has no effect without acme = true",
                "a certificate from files brings its names along");
    }
    return false;
  }
  t.require("names", "write names = [\"www.example.com\"]");
  t.read("default", certificate.is_default);
  out.is_default = certificate.is_default;
  for (const char* key : {"chain", "key", "directory", "sct"}) {
    std::string unused;
    if (!t.has(key)) continue;
    t.read(key, unused);
    t.problem(t.key_path(key), "cannot be given beside acme = true",
              "what the CA issues is kept in acme.storage");
  }
  for (std::string& name : out.names) name = to_lower(name);
  s.certificates.push_back(std::move(out));
  return true;
}

}  // namespace pqedge::config
