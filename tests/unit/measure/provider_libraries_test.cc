// The libraries of this build: encodings, sizes, and what each says of itself.
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include <cstdlib>
#include <filesystem>

#include "crypto/handles.h"
#include "measure/provider/catalogue.h"
#include "measure/provider/libraries.h"
#include "measure/provider/registry.h"

namespace pqedge::measure {
namespace {

// All but what takes long to make a key or to sign.
bool is_fast(const Algorithm& algorithm) {
  return algorithm.family != Family::hash_based && algorithm.family != Family::stateful_hash &&
         !algorithm.name.starts_with("RSA-3072") && !algorithm.name.starts_with("RSA-4096") &&
         !algorithm.name.starts_with("HQC-256");
}

const Registry& libraries() {
  static const Registry registry = Registry::load({.wanted = is_fast, .liboqs = "", .awslc = ""});
  return registry;
}

TEST(Libraries, EveryAnswerIsRight) {
  for (const auto& answer : libraries().known_answers()) {
    EXPECT_TRUE(answer.passed) << answer.provider << ", " << answer.algorithm << ", "
                               << answer.source << ": " << answer.detail;
  }
  for (const auto& one : libraries().left_out()) {
    // Whole libraries may be missing; what is there has to pass.
    EXPECT_TRUE(one.algorithm.empty())
        << one.provider << ", " << one.algorithm << ": " << one.reason;
  }
}

TEST(Libraries, OfThisBuildAreAllThere) {
  for (const char* name : {"OpenSSL", "Botan", "wolfSSL", "libgcrypt", "libntruprime", "PQClean"}) {
    auto* provider = libraries().find(name);
    ASSERT_NE(provider, nullptr) << name;
    EXPECT_FALSE(provider->algorithms().empty()) << name;
    EXPECT_FALSE(provider->facts().version.empty()) << name;
  }
  EXPECT_EQ(libraries().find("openssl"), libraries().find("OpenSSL"));
}

TEST(Libraries, OpensslComesFirst) {
  auto offering = libraries().offering("ML-KEM-768");
  ASSERT_GE(offering.size(), 4u);
  EXPECT_EQ(offering.front()->facts().name, "OpenSSL");
}

TEST(Libraries, AFigureNeverStandsWithoutItsEvidence) {
  for (const auto& provider : libraries().providers()) {
    for (const auto& algorithm : provider->algorithms()) {
      auto implementation = provider->implementation(algorithm.name);
      EXPECT_FALSE(implementation.code.empty()) << algorithm.name;
      EXPECT_FALSE(implementation.evidence.empty())
          << provider->facts().name << ", " << algorithm.name;
      EXPECT_FALSE(implementation.keys.empty()) << algorithm.name;
    }
  }
}

TEST(Libraries, FamiliesAreRight) {
  EXPECT_EQ(family_name(algorithm_of("RSA-2048-PSS").family), "classical");
  EXPECT_EQ(family_name(algorithm_of("ECDSA-P256").family), "classical");
  EXPECT_EQ(family_name(algorithm_of("ML-DSA-65").family), "lattice");
  EXPECT_EQ(family_name(algorithm_of("HQC-128 (round 4)").family), "code-based");
  EXPECT_EQ(family_name(algorithm_of("X25519MLKEM768").family), "hybrid");
  for (const auto& entry : catalogue()) {
    EXPECT_EQ(entry.name.find("FN-DSA"), std::string_view::npos) << entry.name;
  }
}

// OpenSSL encodes the key that pqcost counts in a certificate.
size_t spki_of(EVP_PKEY* key) {
  unsigned char* der = nullptr;
  int length = i2d_PUBKEY(key, &der);
  OPENSSL_free(der);
  return static_cast<size_t>(length);
}

TEST(Catalogue, SpkiSizesAreThoseOfRealKeys) {
  for (const auto& entry : catalogue()) {
    if (!entry.sizes.spki || entry.name.starts_with("RSA-")) continue;
    std::string type(entry.name);
    crypto::KeyPtr key;
    if (type.starts_with("P-")) {
      key.reset(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", type.c_str()));
    } else if (type.starts_with("ECDSA-P")) {
      key.reset(EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", ("P-" + type.substr(7)).c_str()));
    } else {
      key.reset(EVP_PKEY_Q_keygen(nullptr, nullptr, type.c_str()));
    }
    ASSERT_TRUE(key) << type;
    EXPECT_EQ(spki_of(key.get()), *entry.sizes.spki) << type;
  }
  crypto::KeyPtr rsa(EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA", size_t{2048}));
  EXPECT_EQ(spki_of(rsa.get()), *sizes_of("RSA-2048-PSS").spki);
}

// RFC 8446 5.3: the sequence number is in the nonce, so two records of one text differ.
TEST(Aead, LibrariesReadEachOthersRecords) {
  std::vector<uint8_t> key(32, 7), iv(12, 9), text(100, 'x'), mine, theirs, opened;
  for (const char* name : {"AES-256-GCM", "ChaCha20-Poly1305"}) {
    auto first = libraries().find("OpenSSL")->aead_with(name, key, iv);
    ASSERT_TRUE(first);
    for (auto* provider : libraries().offering(name)) {
      auto one = libraries().find("OpenSSL")->aead_with(name, key, iv);
      auto other = provider->aead_with(name, key, iv);
      ASSERT_TRUE(other) << provider->facts().name;
      for (int record = 0; record < 3; ++record) {
        ASSERT_TRUE(one->seal(text, as_bytes("head"), mine));
        ASSERT_TRUE(other->seal(text, as_bytes("head"), theirs));
        EXPECT_EQ(mine, theirs) << provider->facts().name << ", " << name << ", record " << record;
      }
      ASSERT_TRUE(other->open(mine, as_bytes("head"), opened));
      EXPECT_EQ(opened, text);
    }
  }
}

// ---- libraries that are opened at run time ------------------------------------------------------

// Built beside this program.
std::string fake(const char* name) {
  return std::filesystem::read_symlink("/proc/self/exe").replace_filename(name).string();
}

bool wants_768(const Algorithm& algorithm) { return algorithm.name == "ML-KEM-768"; }

TEST(Liboqs, IsOpenedByPathAndChecked) {
  auto provider = open_liboqs(fake("libfake_oqs.so"));
  ASSERT_TRUE(provider) << provider.error().message;
  std::vector<std::unique_ptr<Provider>> providers;
  providers.push_back(std::move(*provider));
  auto registry = Registry::check(std::move(providers), published_vectors(),
                                  {.wanted = wants_768, .liboqs = "", .awslc = ""});
  EXPECT_EQ(registry.offering("ML-KEM-768").size(), 1u);
  EXPECT_EQ(registry.find("liboqs")->facts().version, "0.0.0-fake");
  EXPECT_EQ(registry.find("liboqs")->implementation("ML-KEM-768").code, "unknown");
}

TEST(Liboqs, ThatComputesWronglyIsLeftOut) {
  setenv("FAKE_OQS_WRONG", "1", 1);
  auto provider = open_liboqs(fake("libfake_oqs.so"));
  ASSERT_TRUE(provider) << provider.error().message;
  std::vector<std::unique_ptr<Provider>> providers;
  providers.push_back(std::move(*provider));
  auto registry = Registry::check(std::move(providers), published_vectors(),
                                  {.wanted = wants_768, .liboqs = "", .awslc = ""});
  unsetenv("FAKE_OQS_WRONG");
  EXPECT_TRUE(registry.offering("ML-KEM-768").empty());
  ASSERT_EQ(registry.left_out().size(), 1u);
  EXPECT_EQ(registry.left_out().front().provider, "liboqs");
  EXPECT_NE(registry.left_out().front().reason.find("ACVP"), std::string::npos);
}

TEST(Liboqs, ThatIsNotOneIsRefused) {
  EXPECT_FALSE(open_liboqs("/nonexistent/liboqs.so"));
  auto other = open_liboqs("libc.so.6");
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message.find("liboqs"), std::string::npos);
}

TEST(Awslc, ThatIsNotOneIsRefused) {
  EXPECT_FALSE(open_awslc("/nonexistent/libcrypto.so"));
  auto other = open_awslc("libcrypto.so.3");  // OpenSSL's
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message.find("libcrypto.so.3"), std::string::npos);
}

}  // namespace
}  // namespace pqedge::measure
