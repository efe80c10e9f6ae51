#include "crypto/host_policy.h"

#include <gtest/gtest.h>

#include "crypto/client_authority.h"
#include "unit/crypto/identity.h"
#include "unit/crypto/tls_pair.h"

namespace pqedge::crypto {
namespace {

using testing::make_identity;

HostPolicySettings host_policy(std::vector<std::string> hosts,
                               std::vector<std::string> groups = {"hybrid-required"}) {
  HostPolicySettings s;
  s.name = "p";
  s.hosts = std::move(hosts);
  s.tls.groups = std::move(groups);
  return s;
}

std::shared_ptr<const PolicySet> load(const std::vector<HostPolicySettings>& by_host,
                                      const TlsSettings& base = {}) {
  auto set = PolicySet::load(base, by_host);
  if (!set) ADD_FAILURE() << set.error().message;
  return *set;
}

net::ConnectionFacts facts_of(const PolicySet& set, std::string sni) {
  net::ConnectionFacts facts;
  facts.transport = net::Transport::tls;
  facts.tls_version = "TLSv1.3";
  facts.group = "X25519MLKEM768";
  facts.post_quantum = facts.offered_post_quantum = true;
  facts.policy = set.find(sni).fingerprint;
  facts.client_asked = set.find(sni).authority != nullptr;
  facts.sni = std::move(sni);
  return facts;
}

TEST(PolicySet, FindsTheMostSpecificHost) {
  const auto set = load({host_policy({"*.a.test"}), host_policy({"*.b.a.test"}, {"cnsa2"}),
                         host_policy({"X.b.a.test"}, {"X25519"})});
  const auto name = [&](std::string_view host) { return set->find(host).settings.groups[0]; };
  EXPECT_EQ(name("c.a.test"), "hybrid-required");
  EXPECT_EQ(name("d.c.a.test"), "hybrid-required");
  EXPECT_EQ(name("b.a.test"), "hybrid-required");
  EXPECT_EQ(name("c.b.a.test"), "cnsa2");
  EXPECT_EQ(name("d.c.b.a.test"), "cnsa2");
  EXPECT_EQ(name("x.b.a.test"), "X25519");
  for (const char* host : {"", "a.test", "ba.test", "x.ba.test", "test", ".a.test", "."}) {
    EXPECT_EQ(&set->find(host), &set->base()) << host;
  }
}

TEST(PolicySet, WhatIsAskedForMakesAPolicyNotItsName) {
  const auto set = load({host_policy({"a.test"}), host_policy({"b.test"}),
                         host_policy({"c.test"}, {"X25519MLKEM768"})});
  EXPECT_EQ(set->find("a.test").fingerprint, set->find("b.test").fingerprint);
  EXPECT_NE(set->find("a.test").fingerprint, set->find("c.test").fingerprint);
  EXPECT_NE(set->find("a.test").fingerprint, set->base().fingerprint);
  EXPECT_NE(set->find("a.test").session_context, set->base().session_context);
  // The same in another process, after an upgrade, on another machine.
  EXPECT_EQ(load({})->base().fingerprint, load({})->base().fingerprint);
}

TEST(PolicySet, ServesHostsOfTheConnectionsPolicyAlone) {
  const auto set = load({host_policy({"a.test"}), host_policy({"b.test"}),
                         host_policy({"c.test"}, {"X25519MLKEM768"})});
  EXPECT_TRUE(set->serves(facts_of(*set, "a.test"), "b.test"));
  EXPECT_FALSE(set->serves(facts_of(*set, "a.test"), "c.test"));
  EXPECT_FALSE(set->serves(facts_of(*set, "a.test"), "other.test"));
  EXPECT_FALSE(set->serves(facts_of(*set, ""), "a.test"));
  EXPECT_FALSE(set->serves(facts_of(*set, "a.test"), ""));
  EXPECT_TRUE(set->serves(facts_of(*set, ""), ""));
}

TEST(PolicySet, AConnectionOfAnEarlierConfigurationGoesOnWhereItMay) {
  const testing::TemporaryDirectory directory;
  const auto ca = make_identity({.common_name = "ca", .is_ca = true});
  HostPolicySettings secret = host_policy({"secret.test"}, {"compatible"});
  secret.tls.client_auth = {.mode = ClientAuth::required,
                            .ca_file = directory.write("ca.pem", ca.chain_pem)};
  const auto before = load({});
  const auto now = load({secret, host_policy({"strict.test"})}, {.min_version = "1.2"});
  for (const char* sni : {"a.test", "secret.test", "strict.test"}) {
    const auto facts = facts_of(*before, sni);
    EXPECT_EQ(now->serves(facts, "a.test"), std::string_view(sni) == "a.test") << sni;
    EXPECT_FALSE(now->serves(facts, "secret.test")) << sni;
    EXPECT_EQ(now->serves(facts, "strict.test"), std::string_view(sni) == "strict.test") << sni;
  }
  auto classical = facts_of(*before, "strict.test");
  classical.group = "X25519";
  classical.post_quantum = false;
  EXPECT_FALSE(now->serves(classical, "strict.test"));
  // Whatever the fingerprint says: no certificate, no request.
  auto without = facts_of(*now, "secret.test");
  EXPECT_FALSE(now->serves(without, "secret.test"));
  auto client = std::make_shared<net::ClientCertificate>();
  without.client = client;
  EXPECT_FALSE(now->serves(without, "secret.test"));
  client->verified = true;
  EXPECT_TRUE(now->serves(without, "secret.test"));
}

TEST(PolicySet, RevocationListsMakeAnotherPolicy) {
  const testing::TemporaryDirectory directory;
  const auto one = make_identity({.common_name = "one", .is_ca = true});
  const auto two = make_identity({.common_name = "two", .is_ca = true});
  TlsSettings base;
  base.client_auth = {.mode = ClientAuth::required,
                      .ca_file = directory.write("ca.pem", one.chain_pem)};
  const auto before = load({}, base)->base().fingerprint;
  EXPECT_EQ(load({}, base)->base().fingerprint, before);
  directory.write("ca.pem", one.chain_pem + two.chain_pem);
  EXPECT_NE(load({}, base)->base().fingerprint, before);
}

TEST(ClientCertificate, TextsCanStandInAField) {
  const auto mallory =
      make_identity({.dns = {"A.test", "b.test"}, .common_name = "m, CN=admin\r\nX: y "});
  const auto seen = describe_certificate(mallory.certificate.get());
  EXPECT_EQ(seen->sans, "DNS:a.test, DNS:b.test");
  EXPECT_EQ(seen->subject, "CN=m\\, CN=admin\\0D\\0AX: y\\20");
  EXPECT_EQ(seen->fingerprint.size(), 64u);
  ASSERT_EQ(seen->names.size(), 2u);
  EXPECT_EQ(seen->names[0], "a.test");
}

}  // namespace
}  // namespace pqedge::crypto
