#include "edge/certificate_keeper.h"

#include <gtest/gtest.h>

#include "crypto/certificates_internal.h"

namespace pqedge::edge {
namespace {

using crypto::Certificate;
using crypto::CertificateRef;

// A new key and certificate each time.
CertificateRef certificate(const std::string& id, const std::string& name) {
  const auto pem = *crypto::make_self_signed({name});
  auto parsed = crypto::parse_certificate({pem.chain, pem.key, id, id});
  EXPECT_TRUE(parsed) << parsed.error().message;
  parsed->id = id;
  return std::make_shared<const Certificate>(std::move(*parsed));
}

// The same content, as a second reading of its files gives it.
CertificateRef read_again(const CertificateRef& one) {
  Certificate copy = one->copy();
  copy.ocsp_response.clear();
  return std::make_shared<const Certificate>(std::move(copy));
}

class Keeper : public ::testing::Test {
 protected:
  Keeper()
      : loop(std::move(*net::Loop::create())),
        keeper(*loop, [this](std::shared_ptr<const crypto::CertificateStore> store) {
          ++published;
          last = std::move(store);
        }) {
    keeper.observe([this](const std::string& id, const CertificateRef& now) {
      seen.push_back(id + (now == nullptr ? " gone" : ""));
    });
  }
  void turn() { loop->run_once(0); }

  std::unique_ptr<net::Loop> loop;
  int published = 0;
  std::shared_ptr<const crypto::CertificateStore> last;
  std::vector<std::string> seen;
  CertificateKeeper keeper;
};

TEST_F(Keeper, PublishesOnceATurn) {
  keeper.add(certificate("file:a", "a.test"));
  keeper.add(certificate("file:b", "b.test"));
  EXPECT_EQ(published, 0);
  turn();
  EXPECT_EQ(published, 1);
  EXPECT_EQ(last->size(), 2u);
  turn();
  EXPECT_EQ(published, 1);
  keeper.remove("file:a");
  keeper.publish_now();
  EXPECT_EQ(published, 2);
  EXPECT_FALSE(last->covers("a.test"));
  turn();
  EXPECT_EQ(published, 2);
  EXPECT_EQ(seen, (std::vector<std::string>{"file:a", "file:b", "file:a gone"}));
}

TEST_F(Keeper, AChangedCopyCountsOnlyForTheOneInUse) {
  const CertificateRef old = certificate("file:a", "a.test");
  keeper.add(old);
  Certificate stapled = old->copy();
  stapled.ocsp_response = "good";
  const auto fresh = std::make_shared<const Certificate>(std::move(stapled));
  EXPECT_TRUE(keeper.update(old, fresh));
  EXPECT_EQ(keeper.find("file:a")->ocsp_response, "good");
  keeper.add(certificate("file:a", "a.test"));
  EXPECT_FALSE(keeper.update(fresh, old));
}

TEST_F(Keeper, AReloadKeepsWhatIsTheSame) {
  const CertificateRef a = certificate("file:a", "a.test");
  const CertificateRef acme = certificate("acme:c", "c.test");
  keeper.add(acme);
  keeper.replace_all("file:", {a, certificate("file:b", "b.test")});
  Certificate stapled = a->copy();
  stapled.ocsp_response = "good";
  keeper.update(a, std::make_shared<const Certificate>(std::move(stapled)));
  turn();
  seen.clear();
  const auto next = certificate("file:b", "b.test");
  const auto preview = keeper.with("file:", {read_again(a), next});
  keeper.replace_all("file:", {read_again(a), next});
  turn();
  EXPECT_EQ(last->size(), 3u);
  EXPECT_EQ(preview->all(), last->all());
  EXPECT_EQ(keeper.find("file:a")->ocsp_response, "good");
  EXPECT_EQ(keeper.find("file:b"), next);
  EXPECT_EQ(keeper.find("acme:c"), acme);
  // Those of the configuration come first: without a marked one the first is the default.
  EXPECT_EQ(last->find("")->id, "file:a");
  EXPECT_EQ(seen, std::vector<std::string>{"file:b"});
  seen.clear();
  const int before = published;
  keeper.replace_all("file:", {read_again(a), next});
  turn();
  EXPECT_EQ(published, before);
  keeper.replace_all("file:", {});
  turn();
  EXPECT_EQ(last->size(), 1u);
  EXPECT_EQ(seen, (std::vector<std::string>{"file:a gone", "file:b gone"}));
}

}  // namespace
}  // namespace pqedge::edge
