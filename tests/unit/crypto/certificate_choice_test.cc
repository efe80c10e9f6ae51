// Which of several certificates for a name a client gets (T4; K6).
#include <gtest/gtest.h>

#include "crypto/certificates_internal.h"
#include "unit/crypto/identity.h"
#include "unit/crypto/tls_pair.h"

namespace pqedge::crypto {
namespace {

using testing::Identity;
using testing::IdentityOptions;
using testing::make_identity;

CertificateRef certificate_of(const Identity& identity, const std::string& file) {
  auto parsed = parse_certificate({identity.chain_pem, identity.key_pem, file, file});
  EXPECT_TRUE(parsed) << parsed.error().message;
  parsed->file = file;
  return std::make_shared<const Certificate>(std::move(*parsed));
}

CertificateRef certificate(const std::string& type, const std::string& name = "a.test",
                           const Identity* issuer = nullptr) {
  return certificate_of(
      make_identity({.dns = {name}, .common_name = type, .key_type = type, .issuer = issuer}),
      type);
}

SchemeSet set(const std::vector<std::string>& names) { return scheme_set(names); }

std::string chosen(const CertificateStore& store, const std::vector<std::string>& schemes,
                   const std::string& host = "a.test") {
  const CertificateRef& one = store.choose({host, {set(schemes), set(schemes)}});
  return one == nullptr ? "none" : one->file;
}

TEST(CertificateChoice, TheStrongestThatTheClientLists) {
  const auto store =
      CertificateStore::make({certificate("RSA"), certificate("P-256"), certificate("ML-DSA-44"),
                              certificate("ML-DSA-87"), certificate("ML-DSA-65")});
  EXPECT_EQ(chosen(*store, {"mldsa65", "rsa_pss_rsae_sha256"}), "ML-DSA-65");
  EXPECT_EQ(chosen(*store, {"rsa_pss_rsae_sha256", "mldsa65"}), "ML-DSA-65");
  EXPECT_EQ(chosen(*store, {"mldsa44", "mldsa87", "mldsa65"}), "ML-DSA-87");
  EXPECT_EQ(chosen(*store, {"rsa_pss_rsae_sha256", "ecdsa_secp256r1_sha256"}), "P-256");
  EXPECT_EQ(chosen(*store, {"rsa_pss_rsae_sha512"}), "RSA");
  // None: the strongest, and OpenSSL says that the client cannot verify it.
  EXPECT_EQ(chosen(*store, {"ed448"}), "ML-DSA-87");
}

TEST(CertificateChoice, AChainThatTheClientCanVerifyComesFirst) {
  const Identity old_ca = make_identity({.common_name = "ca", .key_type = "RSA", .is_ca = true});
  const Identity new_ca =
      make_identity({.common_name = "ca", .key_type = "ML-DSA-65", .is_ca = true});
  const auto store = CertificateStore::make(
      {certificate("ML-DSA-87", "a.test", &old_ca), certificate("ML-DSA-44", "a.test", &new_ca)});
  // Signed by RSA with PKCS #1, which this client does not list for certificates.
  CertificateStore::Query query{"a.test", {set({"mldsa44", "mldsa87"}), set({"mldsa65"})}};
  EXPECT_EQ(store->choose(query)->file, "ML-DSA-44");
  query.client.chain = set({"rsa_pkcs1_sha256", "mldsa65"});
  EXPECT_EQ(store->choose(query)->file, "ML-DSA-87");
  // RFC 8446 4.4.2.2: without a chain it can verify it gets one all the same.
  query.client.chain = set({"ed25519"});
  EXPECT_EQ(store->choose(query)->file, "ML-DSA-87");
}

TEST(CertificateChoice, AWildcardHelpsWhereTheExactNameCannot) {
  const auto store =
      CertificateStore::make({certificate("ML-DSA-65", "www.a.test"),
                              certificate("P-256", "*.a.test"), certificate("RSA", "other.test")});
  EXPECT_EQ(chosen(*store, {"mldsa65", "ecdsa_secp256r1_sha256"}, "www.a.test"), "ML-DSA-65");
  EXPECT_EQ(chosen(*store, {"ecdsa_secp256r1_sha256"}, "www.a.test"), "P-256");
  EXPECT_EQ(chosen(*store, {"rsa_pss_rsae_sha256"}, "www.a.test"), "ML-DSA-65");
  EXPECT_TRUE(store->covers("x.a.test"));
  EXPECT_FALSE(store->covers("x.y.a.test"));
  EXPECT_FALSE(store->covers("unknown.test"));
}

TEST(CertificateChoice, TheDefaultHasThoseOfItsNameBesideIt) {
  auto marked = std::make_shared<Certificate>(certificate("P-256", "b.test")->copy());
  marked->is_default = true;
  const auto store = CertificateStore::make(
      {certificate("RSA", "a.test"), marked, certificate("ML-DSA-65", "b.test")});
  EXPECT_EQ(chosen(*store, {"mldsa65", "ecdsa_secp256r1_sha256"}, ""), "ML-DSA-65");
  EXPECT_EQ(chosen(*store, {"ecdsa_secp256r1_sha256"}, "elsewhere"), "P-256");
}

TEST(CertificateChoice, SlowOnesAreAvoidedWhereThereIsAnother) {
  auto slow = std::make_shared<Certificate>(certificate("RSA")->copy());
  slow->slow = true;
  slow->rank = 9'000'000;
  slow->file = "slow";
  const auto store = CertificateStore::make({slow, certificate("P-256")});
  const SchemeSet both = set({"rsa_pss_rsae_sha256", "ecdsa_secp256r1_sha256"});
  EXPECT_EQ(store->choose({"a.test", {both, both}})->file, "slow");
  EXPECT_EQ(store->choose({"a.test", {both, both}, true})->file, "P-256");
  const SchemeSet rsa = set({"rsa_pss_rsae_sha256"});
  EXPECT_EQ(store->choose({"a.test", {rsa, rsa}, true})->file, "slow");
}

TEST(CertificateChoice, AnEmptyStoreHasNone) {
  const auto store = CertificateStore::make({});
  EXPECT_EQ(store->find("a.test"), nullptr);
  EXPECT_EQ(store->choose({}), nullptr);
  EXPECT_EQ(store->size(), 0u);
}

TEST(CertificateChoice, ChallengesAreForTheirProtocolAlone) {
  auto challenge = std::make_shared<Certificate>(certificate("P-256", "a.test")->copy());
  challenge->is_challenge = true;
  const auto store = CertificateStore::make({challenge, certificate("RSA", "b.test")});
  EXPECT_EQ(store->find("a.test")->file, "RSA");
  EXPECT_EQ(store->find_challenge("a.test")->file, "P-256");
  EXPECT_EQ(store->find_challenge("b.test"), nullptr);
  EXPECT_FALSE(store->covers("a.test"));
}

// ---- what keys and signatures stand for --------------------------------------------------------

TEST(SignatureSchemes, OfKeys) {
  const auto schemes = [](const char* type) {
    return schemes_of_key(make_identity({.key_type = type}).key.get());
  };
  EXPECT_EQ(schemes("P-256"), set({"ecdsa_secp256r1_sha256"}));
  EXPECT_EQ(schemes("P-384"), set({"ecdsa_secp384r1_sha384"}));
  EXPECT_EQ(schemes("P-521"), set({"ecdsa_secp521r1_sha512"}));
  EXPECT_EQ(schemes("ED25519"), set({"ed25519"}));
  EXPECT_EQ(schemes("ED448"), set({"ed448"}));
  EXPECT_EQ(schemes("ML-DSA-44"), set({"mldsa44"}));
  EXPECT_EQ(schemes("ML-DSA-87"), set({"mldsa87"}));
  EXPECT_EQ(schemes("RSA"),
            set({"rsa_pss_rsae_sha256", "rsa_pss_rsae_sha384", "rsa_pss_rsae_sha512",
                 "rsa_pkcs1_sha256", "rsa_pkcs1_sha384", "rsa_pkcs1_sha512"}));
}

TEST(SignatureSchemes, OfSignatures) {
  const auto schemes = [](const char* type) {
    return schemes_of_signature(make_identity({.key_type = type}).certificate.get());
  };
  EXPECT_EQ(schemes("ED25519"), set({"ed25519"}));
  EXPECT_EQ(schemes("ML-DSA-65"), set({"mldsa65"}));
  EXPECT_EQ(schemes("RSA"), set({"rsa_pkcs1_sha256"}));
  EXPECT_EQ(schemes("P-256"), set({"ecdsa_secp256r1_sha256"}));
}

TEST(SignatureSchemes, CodesAndNamesAreTheRegistrys) {
  // IANA, TLS SignatureScheme; draft-ietf-tls-mldsa for ML-DSA.
  const auto code = [](std::string_view name) {
    for (const SignatureScheme& s : signature_schemes()) {
      if (s.name == name) return s.code;
    }
    return uint16_t{0};
  };
  EXPECT_EQ(code("mldsa44"), 0x0904);
  EXPECT_EQ(code("mldsa65"), 0x0905);
  EXPECT_EQ(code("mldsa87"), 0x0906);
  EXPECT_EQ(code("ecdsa_secp256r1_sha256"), 0x0403);
  EXPECT_EQ(code("rsa_pss_pss_sha512"), 0x080b);
}

// ---- with a client ------------------------------------------------------------------------------

TEST(CertificateChoice, Tls12GetsWhatItsSuitesAndGroupsAllow) {
  const auto store =
      CertificateStore::make({certificate("ML-DSA-65"), certificate("P-384"), certificate("RSA")});
  const auto contexts = testing::make_contexts({.min_version = "1.2"}, store);
  const auto served = [&](const testing::Client::Options& options) {
    testing::Pair pair(contexts, options);
    return pair.handshake() ? pair.client->peer_common_name() : pair.server->handshake_error;
  };
  EXPECT_EQ(served({.server_name = "a.test", .max_version = TLS1_2_VERSION}), "P-384");
  // P-384 is not among its groups (RFC 8422 5.3).
  EXPECT_EQ(
      served({.groups = "X25519:P-256", .server_name = "a.test", .max_version = TLS1_2_VERSION}),
      "RSA");
  EXPECT_EQ(served({.server_name = "a.test",
                    .max_version = TLS1_2_VERSION,
                    .signature_algorithms = "rsa_pss_rsae_sha256"}),
            "RSA");
  EXPECT_EQ(served({.server_name = "a.test"}), "ML-DSA-65");
}

}  // namespace
}  // namespace pqedge::crypto
