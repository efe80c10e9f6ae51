#include "measure/chain/mint.h"

#include <gtest/gtest.h>
#include <openssl/ct.h>
#include <openssl/ocsp.h>

#include "measure/chain/count.h"

namespace pqedge::measure {
namespace {

using crypto::FreeWith;

struct Reference {
  const char* algorithm;
  double leaf, intermediate, multiple;
};
// Measured elsewhere with names of the same lengths: Q-Advantage, layer-b/certs/results,
// cert-chain-2026-08-30-43172a3.json.
constexpr Reference kReferences[] = {
    {"ECDSA-P256", 466, 431, 1.00},   {"RSA-2048", 860, 822, 1.88},
    {"RSA-3072", 1116, 1078, 2.45},   {"ML-DSA-44", 4059, 4020, 9.01},
    {"ML-DSA-65", 5588, 5549, 12.42}, {"ML-DSA-87", 7546, 7507, 16.78},
};

ChainSpec plain(const std::string& algorithm) {
  return {.root = algorithm, .intermediate = algorithm, .leaf = algorithm};
}

TEST(Mint, SizesAreThoseMeasuredElsewhere) {
  Minter minter;
  ChainCounter counter(minter);
  for (const Reference& reference : kReferences) {
    const ChainSpec spec = plain(reference.algorithm);
    const auto chain = minter.mint(spec);
    ASSERT_TRUE(chain.has_value()) << chain.error().message;
    const auto line = counter.count(spec, *chain);
    ASSERT_TRUE(line.has_value()) << line.error().message;
    EXPECT_NEAR(static_cast<double>(line->leaf_der), reference.leaf, 0.03 * reference.leaf);
    EXPECT_NEAR(static_cast<double>(line->intermediate_der), reference.intermediate,
                0.03 * reference.intermediate);
    EXPECT_NEAR(*line->multiple_of_p256, reference.multiple, 0.03 * reference.multiple);
    // RFC 8446 4.4.2: 4 + 1 + 3, and 3 + 2 around each certificate.
    EXPECT_EQ(line->certificate_message, 18 + line->leaf_der + line->intermediate_der);
  }
}

// FIPS 204 table 2 and the 22 bytes of an SPKI around it; FIPS 205 table 2.
TEST(Mint, KeysAndSignaturesHaveTheirStandardsLengths) {
  Minter minter;
  ChainCounter counter(minter);
  const ChainSpec spec{.root = "ML-DSA-87", .intermediate = "ML-DSA-65", .leaf = "ML-DSA-44"};
  const auto line = counter.count(spec, minter.mint(spec).value()).value();
  EXPECT_EQ(line.parts.at("leaf public key (SPKI)"), 1312u + 22);
  EXPECT_EQ(line.parts.at("leaf's signature by the intermediate"), 3309u);
  EXPECT_EQ(line.parts.at("intermediate public key (SPKI)"), 1952u + 22);
  EXPECT_EQ(line.parts.at("intermediate's signature by the root"), 4627u);
}

TEST(Mint, ChainsVerify) {
  Minter minter;
  for (const char* issuer : {"ECDSA-P256", "RSA-2048", "ML-DSA-44", "SLH-DSA-SHAKE-128s"}) {
    for (const ChainProfile profile : {ChainProfile::minimal, ChainProfile::web}) {
      const bool slow = std::string_view(issuer).starts_with("SLH-DSA");
      if (slow && profile == ChainProfile::web) continue;
      const auto chain = minter.mint({.root = issuer,
                                      .intermediate = issuer,
                                      .leaf = "ECDSA-P256",
                                      .profile = profile,
                                      .sct_delivery = SctDelivery::embedded,
                                      .scts = 2,
                                      .sct_algorithm = "ML-DSA-44"});
      ASSERT_TRUE(chain.has_value()) << chain.error().message;
      const std::unique_ptr<X509_STORE, FreeWith<X509_STORE_free>> store(X509_STORE_new());
      const std::unique_ptr<X509_STORE_CTX, FreeWith<X509_STORE_CTX_free>> context(
          X509_STORE_CTX_new());
      const crypto::X509StackPtr others(sk_X509_new_null());
      X509_STORE_add_cert(store.get(), chain->root.get());
      X509_up_ref(chain->intermediate.get());
      sk_X509_push(others.get(), chain->intermediate.get());
      ASSERT_EQ(X509_STORE_CTX_init(context.get(), store.get(), chain->leaf.get(), others.get()),
                1);
      EXPECT_EQ(X509_verify_cert(context.get()), 1)
          << X509_verify_cert_error_string(X509_STORE_CTX_get_error(context.get()));
      EXPECT_EQ(X509_check_host(chain->leaf.get(), server_name_of(profile), 0, 0, nullptr), 1);
    }
  }
}

// OpenSSL's own reader of RFC 6962 takes the list apart.
TEST(Mint, EmbeddedSctsAreReadByOthers) {
  Minter minter;
  ChainSpec spec = plain("ECDSA-P256");
  const size_t without = to_der(minter.mint(spec)->leaf.get()).size();
  spec.sct_delivery = SctDelivery::embedded;
  spec.scts = 2;
  const auto chain = minter.mint(spec);
  ASSERT_TRUE(chain.has_value());
  auto* list = static_cast<STACK_OF(SCT)*>(
      X509_get_ext_d2i(chain->leaf.get(), NID_ct_precert_scts, nullptr, nullptr));
  ASSERT_NE(list, nullptr);
  EXPECT_EQ(sk_SCT_num(list), 2);
  EXPECT_EQ(SCT_get_version(sk_SCT_value(list, 0)), SCT_VERSION_V1);
  unsigned char* signature = nullptr;
  EXPECT_EQ(SCT_get0_signature(sk_SCT_value(list, 1), &signature), 71u);
  SCT_LIST_free(list);
  // Two SCTs of 47 + 71 bytes, two lengths, the list's own, and some 20 of DER.
  const size_t with = to_der(chain->leaf.get()).size();
  EXPECT_NEAR(static_cast<double>(with - without), 2 * (47 + 71 + 2) + 2 + 21, 6);
}

TEST(Mint, AnSctOfMlDsa44HasThePublishedSize) {
  Minter minter;
  ChainSpec spec = plain("ML-DSA-44");
  spec.sct_delivery = SctDelivery::tls_extension;
  spec.scts = 2;
  EXPECT_EQ(minter.mint(spec)->sct_list.size(), 2u + 2 * 2469);  // RFC 6962 3.2, 3.3; FIPS 204
}

TEST(Mint, StaplesVerify) {
  Minter minter;
  for (const char* algorithm : {"ECDSA-P256", "ML-DSA-65"}) {
    ChainSpec spec = plain(algorithm);
    spec.staple = true;
    const auto chain = minter.mint(spec);
    ASSERT_TRUE(chain.has_value()) << chain.error().message;
    const unsigned char* at = chain->staple.data();
    const std::unique_ptr<OCSP_RESPONSE, FreeWith<OCSP_RESPONSE_free>> response(
        d2i_OCSP_RESPONSE(nullptr, &at, static_cast<long>(chain->staple.size())));
    ASSERT_NE(response, nullptr);
    EXPECT_EQ(OCSP_response_status(response.get()), OCSP_RESPONSE_STATUS_SUCCESSFUL);
    const std::unique_ptr<OCSP_BASICRESP, FreeWith<OCSP_BASICRESP_free>> basic(
        OCSP_response_get1_basic(response.get()));
    const std::unique_ptr<X509_STORE, FreeWith<X509_STORE_free>> store(X509_STORE_new());
    X509_STORE_add_cert(store.get(), chain->root.get());
    const crypto::X509StackPtr issuers(sk_X509_new_null());
    X509_up_ref(chain->intermediate.get());
    sk_X509_push(issuers.get(), chain->intermediate.get());
    EXPECT_EQ(OCSP_basic_verify(basic.get(), issuers.get(), store.get(), 0), 1)
        << crypto::take_openssl_error();
  }
}

TEST(Mint, UnknownAlgorithmsAreNamedWithTheKnownOnes) {
  Minter minter;
  const auto chain = minter.mint(plain("ML-DSA-99"));
  ASSERT_FALSE(chain.has_value());
  EXPECT_NE(chain.error().message.find("ML-DSA-99"), std::string::npos);
  EXPECT_NE(chain.error().message.find("ML-DSA-87"), std::string::npos);
}

}  // namespace
}  // namespace pqedge::measure
