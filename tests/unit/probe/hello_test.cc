// Our ClientHellos, read back by the strict reader that the edge uses.
#include "probe/hello.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "crypto/client_hello.h"

namespace pqedge::probe {
namespace {

HelloShape modern() {
  HelloShape shape;
  shape.versions = {kTls13};
  shape.ciphers = tls13_suites();
  shape.groups = all_groups();
  shape.server_name = "example.org";
  shape.alpn = {"h2", "http/1.1"};
  return shape;
}

TEST(ProbeHello, IsWellFormed) {
  const auto message = make_client_hello(modern());
  const auto hello = crypto::parse_client_hello(message);
  ASSERT_TRUE(hello) << crypto::name(hello.error());
  EXPECT_EQ(hello->legacy_version, kTls12);
  EXPECT_EQ(hello->server_name, "example.org");
  ASSERT_EQ(hello->supported_versions.size(), 1U);
  EXPECT_EQ(hello->supported_versions[0], kTls13);
  EXPECT_EQ(hello->supported_groups.size(), all_groups().size());
  EXPECT_TRUE(hello->supported_groups.contains(0x11ec));
  EXPECT_TRUE(hello->has_key_share);
  EXPECT_TRUE(hello->key_shares.empty());
  EXPECT_TRUE(hello->signature_algorithms.contains(0x0905));
  EXPECT_TRUE(hello->has_alpn);
}

TEST(ProbeHello, OfOldVersionsHasNoExtensionOfTls13) {
  HelloShape shape;
  shape.legacy_version = kTls10;
  shape.ciphers = old_suites();
  shape.groups = {0x001d};
  const auto message = make_client_hello(shape);
  const auto hello = crypto::parse_client_hello(message);
  ASSERT_TRUE(hello) << crypto::name(hello.error());
  EXPECT_EQ(hello->legacy_version, kTls10);
  EXPECT_TRUE(hello->supported_versions.empty());
  EXPECT_FALSE(hello->has_key_share);
  EXPECT_FALSE(hello->has_server_name);
}

TEST(ProbeHello, PaddingMakesTheMessageAsLongAsAsked) {
  HelloShape shape = modern();
  shape.pad_to = 1800;
  const auto message = make_client_hello(shape);
  EXPECT_EQ(message.size(), 1800U);
  EXPECT_TRUE(crypto::parse_client_hello(message));
}

TEST(ProbeHello, GreaseIsInEveryList) {
  HelloShape shape = modern();
  shape.grease = true;
  const auto message = make_client_hello(shape);
  const auto hello = crypto::parse_client_hello(message);
  ASSERT_TRUE(hello) << crypto::name(hello.error());
  EXPECT_TRUE(crypto::is_grease(hello->cipher_suites[0]));
  EXPECT_TRUE(crypto::is_grease(hello->supported_versions[0]));
  EXPECT_TRUE(crypto::is_grease(hello->supported_groups[0]));
  EXPECT_TRUE(crypto::is_grease(hello->signature_algorithms[0]));
  EXPECT_TRUE(crypto::is_grease(hello->key_shares.begin()->group));
  EXPECT_TRUE(crypto::is_grease(hello->extensions.begin()->type));
}

TEST(ProbeHello, RandomAndSessionIdAreFresh) {
  const auto one = make_client_hello(modern());
  const auto two = make_client_hello(modern());
  EXPECT_EQ(one.size(), two.size());
  EXPECT_NE(one, two);
}

TEST(ProbeHello, RecordsHoldTheWholeMessage) {
  const auto message = make_client_hello(modern());
  for (const size_t fragment : {size_t{1}, size_t{100}, message.size(), size_t{1} << 14}) {
    const auto wire = in_records(message, fragment);
    std::vector<uint8_t> joined;
    for (Bytes rest(wire); !rest.empty();) {
      ASSERT_GE(rest.size(), 5U);
      EXPECT_EQ(rest[0], 22);
      const size_t size = load_be16(&rest[3]);
      ASSERT_LE(size, fragment);
      joined.insert(joined.end(), rest.begin() + 5,
                    rest.begin() + 5 + static_cast<std::ptrdiff_t>(size));
      rest = rest.subspan(5 + size);
    }
    EXPECT_EQ(joined, message);
  }
}

TEST(ProbeHello, EveryGroupAndSuiteHasAName) {
  std::vector<uint16_t> seen;
  for (const uint16_t code : all_groups()) {
    EXPECT_FALSE(group_label(code).starts_with("0x")) << code;
    EXPECT_FALSE(std::ranges::contains(seen, code)) << code;
    seen.push_back(code);
  }
  for (const uint16_t code : old_suites()) EXPECT_TRUE(suite_label(code).starts_with("TLS_"));
  EXPECT_TRUE(is_ml_kem(0x11ec));
  EXPECT_FALSE(is_ml_kem(0x001d));
  EXPECT_FALSE(is_ml_kem(0x6399));  // Kyber's draft is not ML-KEM
}

}  // namespace
}  // namespace pqedge::probe
