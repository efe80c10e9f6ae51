// The published vectors are put to the libraries; one that is changed takes its algorithm out.
#include "measure/provider/vectors.h"

#include <gtest/gtest.h>

#include "measure/provider/catalogue.h"
#include "measure/provider/libraries.h"
#include "measure/provider/registry.h"

namespace pqedge::measure {
namespace {

// Quick to check, one or two of each kind.
bool is_quick(const Algorithm& algorithm) {
  for (std::string_view name : {"ML-KEM-768", "X25519", "P-256", "ML-DSA-44", "Ed25519",
                                "ECDSA-P256", "AES-256-GCM", "ChaCha20-Poly1305"}) {
    if (algorithm.name == name) return true;
  }
  return false;
}

Registry check_openssl(const Vectors& vectors) {
  std::vector<std::unique_ptr<Provider>> providers;
  providers.push_back(make_openssl());
  return Registry::check(std::move(providers), vectors,
                         {.wanted = is_quick, .liboqs = "", .awslc = ""});
}

bool offers(const Registry& registry, std::string_view algorithm) {
  return !registry.offering(algorithm).empty();
}

std::string reason(const Registry& registry, std::string_view algorithm) {
  for (const auto& one : registry.left_out()) {
    if (one.algorithm == algorithm) return one.reason;
  }
  return {};
}

TEST(Vectors, NameTheirSourceAndAKnownAlgorithm) {
  auto vectors = published_vectors();
  EXPECT_GT(vectors.size(), 45u);
  for (const auto& vector : vectors) {
    EXPECT_NE(find_algorithm(vector.algorithm), nullptr) << vector.algorithm;
    EXPECT_FALSE(vector.source.empty()) << vector.algorithm;
    EXPECT_FALSE(vector.values.empty()) << vector.algorithm;
  }
}

TEST(Vectors, AreReadFromText) {
  auto vectors = parse_vectors("[X25519] agree | RFC 7748\nprivate = 0a0B\npeer =\n  01\n  02\n");
  EXPECT_FALSE(vectors);  // capital letters are no hex here
  vectors = parse_vectors("[X25519] agree | RFC 7748\nprivate = 0a0b\npeer =\n  01\n  02\n");
  ASSERT_TRUE(vectors) << vectors.error().message;
  ASSERT_EQ(vectors->size(), 1u);
  EXPECT_EQ(vectors->front().source, "RFC 7748");
  EXPECT_EQ(vectors->front().values.at("peer"), (std::vector<uint8_t>{1, 2}));
  EXPECT_FALSE(parse_vectors("private = 00\n"));
  EXPECT_FALSE(parse_vectors("[X25519] agree, RFC 7748\n"));
  EXPECT_FALSE(parse_vectors("[X25519] agree | RFC 7748\nprivate = 000\n"));
}

TEST(Vectors, OpensslGivesThemAll) {
  auto registry = check_openssl(published_vectors());
  for (const auto& answer : registry.known_answers()) {
    EXPECT_TRUE(answer.passed) << answer.algorithm << ", " << answer.source << ": "
                               << answer.detail;
  }
  for (const auto& one : registry.left_out()) ADD_FAILURE() << one.algorithm << ": " << one.reason;
  EXPECT_TRUE(offers(registry, "ML-KEM-768"));
  EXPECT_FALSE(offers(registry, "ML-KEM-1024")) << "it was not asked for";
}

// A bit of each value of each vector in turn: the check has to see it. (The bit is one that counts:
// RFC 7748 5 clears three others of that byte.)
TEST(Vectors, AChangedVectorTakesItsAlgorithmOut) {
  auto vectors = published_vectors();
  for (size_t at = 0; at < vectors.size(); ++at) {
    Algorithm algorithm = algorithm_of(vectors[at].algorithm);
    if (!is_quick(algorithm) || vectors[at].check == "nist_kat") continue;
    for (const auto& [name, value] : vectors[at].values) {
      ASSERT_FALSE(value.empty()) << name;
      auto changed = vectors;
      changed[at].values[name].front() ^= 0x10;
      auto registry = check_openssl(changed);
      EXPECT_FALSE(offers(registry, algorithm.name))
          << vectors[at].check << " of " << algorithm.name << ": " << name;
      EXPECT_FALSE(reason(registry, algorithm.name).empty()) << algorithm.name;
    }
  }
}

TEST(Vectors, OthersStayWhenOneIsTakenOut) {
  auto vectors = published_vectors();
  for (auto& vector : vectors) {
    if (vector.algorithm == "ML-KEM-768" && vector.check == "decapsulate") {
      vector.values["secret"].back() ^= 1;
    }
  }
  auto registry = check_openssl(vectors);
  EXPECT_FALSE(offers(registry, "ML-KEM-768"));
  EXPECT_EQ(registry.providers().front()->kem("ML-KEM-768"), nullptr);
  EXPECT_NE(reason(registry, "ML-KEM-768").find("another secret"), std::string::npos)
      << reason(registry, "ML-KEM-768");
  EXPECT_TRUE(offers(registry, "X25519"));
}

TEST(Vectors, WithoutOneAnAlgorithmThatStandsAloneIsLeftOut) {
  auto registry = check_openssl({});
  EXPECT_TRUE(registry.providers().front()->algorithms().empty());
  EXPECT_NE(reason(registry, "X25519").find("no other implementation"), std::string::npos);
}

}  // namespace
}  // namespace pqedge::measure
