// [acme] and [[certificate]] acme = true: what is taken, and what is refused with its place.
#include <gtest/gtest.h>

#include "config/load.h"

namespace pqedge::config {
namespace {

constexpr std::string_view kHead = R"(version = 1
[[listener]]
address = "127.0.0.1:443"
[[listener]]
name = "http"
address = "127.0.0.1:80"
tls = false
[[route]]
status = 200
)";

std::string with(std::string_view certificate, std::string_view acme) {
  return std::string(kHead) + "[[certificate]]\nacme = true\n" + std::string(certificate) +
         "\n[acme]\nstorage = \"s\"\n" + std::string(acme) + "\n";
}

Result<Configuration> read(const std::string& toml) {
  return parse(toml, "edge.toml", "/base", Checks::text);
}

void expect_refused(const std::string& toml, std::string_view text) {
  const auto c = read(toml);
  ASSERT_FALSE(c) << text;
  EXPECT_NE(c.error().message.find(text), std::string::npos) << c.error().message;
  EXPECT_TRUE(c.error().message.starts_with("edge.toml:")) << c.error().message;
}

constexpr std::string_view kName = "names = [\"WWW.Example.com\", \"example.com\"]";
constexpr std::string_view kTerms = "accept_terms = true\n";

TEST(ConfigAcme, IsRead) {
  const auto c = read(with(std::string(kName) + "\ndefault = true",
                           std::string(kTerms) + "challenge = \"tls-alpn-01\"\nretry_min = \"2s\"\n"
                                                 "[acme.on_demand]\nask = \"http://127.0.0.1/x\""));
  ASSERT_TRUE(c) << c.error().message;
  const acme::Settings& s = c->edge.acme;
  EXPECT_TRUE(s.on());
  EXPECT_EQ(s.storage, "/base/s");
  EXPECT_EQ(s.challenge, acme::Challenge::tls_alpn_01);
  EXPECT_EQ(s.retry_min, 2 * kSecond);
  ASSERT_EQ(s.certificates.size(), 1u);
  EXPECT_EQ(s.certificates[0].names, (std::vector<std::string>{"www.example.com", "example.com"}));
  EXPECT_TRUE(s.certificates[0].is_default);
  EXPECT_EQ(s.on_demand.ask, "http://127.0.0.1/x");
}

TEST(ConfigAcme, WhatIsWrongIsSaidWithItsPlace) {
  const std::string terms(kTerms);
  for (const auto& [change, text] : std::initializer_list<std::pair<std::string, std::string_view>>{
           {"", "acme.accept_terms: is missing"},
           {"accept_terms = false", "acme.accept_terms: is not true"},
           {terms + "directory = \"http://ca.test/\"", "acme.directory: \"http://ca"},
           {terms + "key_type = \"ml-dsa-65\"", "letsencrypt.org signs no certificate for"},
           {terms + "key_type = \"dsa\"", "acme.key_type"},
           {terms + "eab_key_id = \"x\"", "acme.eab_key_id: has no effect alone"},
           {terms + "challenge = \"dns-01\"", "acme.dns: has no hook and no server"},
           {terms + "[acme.dns]\nhook = [\"/x\"]", "acme.dns: has no effect without"},
           {terms + "challenge = \"dns-01\"\n[acme.dns]\nhook = [\"x\"]", "is not an absolute"},
           {terms + "challenge = \"dns-01\"\n[acme.dns]\nserver = \"192.0.2.1:53\"\n"
                    "zones = [\"example.org\"]",
            "is in none of acme.dns.zones"},
           {terms + "challenge = \"dns-01\"\n[acme.dns]\nserver = \"192.0.2.1:53\"\n"
                    "zones = [\"example.com\"]\ntsig_key = \"k\"",
            "acme.dns.tsig_key"},
           {terms + "renew_percent_left = 99", "acme.renew_percent_left"},
           {terms + "retry_min = \"1h\"\nretry_max = \"1m\"", "acme.retry_max"},
           {terms + "email = \"nobody\"", "acme.email"},
           {terms + "[acme.on_demand]\nwait = \"5s\"", "acme.on_demand.ask: is missing"},
           {terms + "[acme.on_demand]\nask = \"ftp://x/\"", "acme.on_demand.ask"},
           {terms + "[acme.on_demand]\nask = \"http://x/\"\nwait = \"30s\"",
            "is not shorter than tls.handshake_timeout"},
           {terms + "hooks = 1", "hooks"},
       }) {
    expect_refused(with(kName, change), text);
  }
  expect_refused(with("names = [\"*.a.test\"]", terms), "needs acme.challenge = \"dns-01\"");
  expect_refused(with("names = [\"192.0.2.1\"]", terms), "is not a host name");
  expect_refused(with("names = [\"a.test\", \"a.test\"]", terms), "is there twice");
  expect_refused(with("names = []", terms), "certificate[0].names");
  expect_refused(with("names = [\"a.test\"]\nchain = \"x.pem\"", terms), "cannot be given beside");
  expect_refused(
      with("names = [\"a.test\"]\n[[certificate]]\nacme = true\nnames = [\"a.test\"]", terms),
      "are those of another certificate");
  expect_refused(std::string(kHead) + "[[certificate]]\nacme = true\nnames = [\"a.test\"]\n",
                 "needs a section [acme]");
  expect_refused(
      std::string(kHead) + "[[certificate]]\nchain = \"c\"\nkey = \"k\"\nnames = [\"a\"]\n",
      "certificate[0].names: has no effect without acme = true");
}

TEST(ConfigAcme, AnotherCaMayTakeMlDsa) {
  const auto c = read(with(
      kName, std::string(kTerms) + "key_type = \"ml-dsa-65\"\ndirectory = \"https://ca.test/d\""));
  ASSERT_TRUE(c) << c.error().message;
  EXPECT_EQ(c->edge.acme.key_type, acme::KeyType::ml_dsa_65);
}

TEST(ConfigAcme, OnDemandAloneIsEnoughForTls) {
  const auto c = read(std::string(kHead) + "[acme]\nstorage = \"s\"\n" + std::string(kTerms) +
                      "[acme.on_demand]\nask = \"http://127.0.0.1/x\"\n");
  ASSERT_TRUE(c) << c.error().message;
  EXPECT_TRUE(c->edge.acme.on());
}

}  // namespace
}  // namespace pqedge::config
