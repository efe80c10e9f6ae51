#include "measure/token/jws.h"

#include <gtest/gtest.h>
#include <openssl/core_names.h>
#include <openssl/params.h>
#include <openssl/sha.h>

#include <array>
#include <format>

#include "base/base64.h"
#include "measure/token/token.h"

namespace pqedge::measure {
namespace {

// RFC 7515 C: the sender and the reader agree on every bit.
TEST(Base64url, OfJose) {
  EXPECT_EQ(base64url(std::array<uint8_t, 5>{3, 236, 255, 224, 193}), "A-z_4ME");
  EXPECT_EQ(from_base64url("A-z_4ME"), as_text(std::array<uint8_t, 5>{3, 236, 255, 224, 193}));
}

// ---- RFC 9964 appendix A.1 ----------------------------------------------------------------------
// All three keys have the seed of 32 zero bytes, the signatures are of FIPS 204's deterministic
// variant. The first characters of each published signature hold the whole commitment hash, which
// depends on every bit of key, message and variant. `kid` is the thumbprint of the public key.
struct Example {
  const char* name;
  const char* kid;
  const char* input;
  const char* signature_begins;
};
constexpr Example kExamples[] = {
    {"ML-DSA-44", "T4xl70S7MT6Zeq6r9V9fPJGVn76wfnXJ21-gyo0Gu6o",
     "eyJhbGciOiJNTC1EU0EtNDQiLCJraWQiOiJUNHhsNzBTN01UNlplcTZyOVY5ZlBKR1ZuNzZ3Zm5YSjIxLWd5bzBHdTZv"
     "In0.SXTigJlzIGEgZGFuZ2Vyb3VzIGJ1c2luZXNzLCBGcm9kbywgZ29pbmcgb3V0IHlvdXIgZG9vci4",
     "knI1Q_9CIzLH5Xy94Kkc7WVKqZcAgtJ3mNf0GUj1uLA6YXAWFJfXkh-zQxUtEl3UIC7zPCiUwKTDR6ZsuUmFj8Ctb_"
     "6aH64h"
     "ElN7we"},
    {"ML-DSA-65", "Suiu29qbfuaBaR4Ats-c6XQBePB_OpAxAwcTR_0KXVM",
     "eyJhbGciOiJNTC1EU0EtNjUiLCJraWQiOiJTdWl1MjlxYmZ1YUJhUjRBdHMtYzZYUUJlUEJfT3BBeEF3Y1RSXzBLWFZN"
     "In0.SXTigJlzIGEgZGFuZ2Vyb3VzIGJ1c2luZXNzLCBGcm9kbywgZ29pbmcgb3V0IHlvdXIgZG9vci4",
     "zmO9_0bLgJAegoVNymfRo4nGPK5lVtSFGnDbzfzYAD5mUEXpaBUg4itvZ8rAUZi4HLb59QqDQSBSpMXC0axajXOMV_"
     "Yttfmw"
     "GgC6FMyaMRZkx-A92bGiNLutqX9jcwRL"},
    {"ML-DSA-87", "tRn1JNIkgMsABVQBlXeDHxAIcclh-2IX0UdDEzPt5XU",
     "eyJhbGciOiJNTC1EU0EtODciLCJraWQiOiJ0Um4xSk5Ja2dNc0FCVlFCbFhlREh4QUljY2xoLTJJWDBVZERFelB0NVhV"
     "In0.SXTigJlzIGEgZGFuZ2Vyb3VzIGJ1c2luZXNzLCBGcm9kbywgZ29pbmcgb3V0IHlvdXIgZG9vci4",
     "hmMrKkUgZwGPQV_WUoXUVq_"
     "Z9WOenDZbfMmHpKritl0btWi29TC8eIyQyT1FAuW2kg3h6ALsvCrjX5tn3QKFQZYC0sBdRt0V"
     "NiDm0BjyJ4jWcomSCgb0-cGXaLlODAz-"},
};
constexpr std::array<uint8_t, 32> kZeroSeed{};

TEST(Jws, SignsTheExamplesOfRfc9964) {
  for (const Example& example : kExamples) {
    const auto signer = ml_dsa_signer(example.name, kZeroSeed, true);
    ASSERT_TRUE(signer.has_value()) << signer.error().message;
    const auto signature = (*signer)->sign(as_bytes(example.input));
    ASSERT_TRUE(signature.has_value()) << signature.error().message;
    const std::string text = base64url(*signature);
    EXPECT_TRUE(text.starts_with(example.signature_begins)) << example.name;
    std::string compact = std::string(example.input) + "." + text;
    EXPECT_TRUE(verify_token(**signer, compact).value());
    compact[compact.size() / 2] = compact[compact.size() / 2] == 'A' ? 'B' : 'A';
    EXPECT_FALSE(verify_token(**signer, compact).value());
    // The header that was signed names the algorithm and the key.
    const auto header = from_base64url(
        std::string_view(example.input).substr(0, std::string_view(example.input).find('.')));
    EXPECT_EQ(*header, std::format(R"({{"alg":"{}","kid":"{}"}})", example.name, example.kid));
  }
}

// RFC 7638 with the members of RFC 9964: what `kid` says is our key of the same seed.
TEST(Jws, KeysOfRfc9964HaveTheirThumbprints) {
  for (const Example& example : kExamples) {
    std::vector<uint8_t> seed(kZeroSeed.begin(), kZeroSeed.end());
    const OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_ML_DSA_SEED, seed.data(), seed.size()),
        OSSL_PARAM_construct_end()};
    EVP_PKEY_CTX* context = EVP_PKEY_CTX_new_from_name(nullptr, example.name, nullptr);
    EVP_PKEY* key = nullptr;
    ASSERT_EQ(EVP_PKEY_keygen_init(context), 1);
    ASSERT_EQ(EVP_PKEY_CTX_set_params(context, parameters), 1);
    ASSERT_EQ(EVP_PKEY_generate(context, &key), 1);
    std::vector<uint8_t> encoded(4096);
    size_t size = encoded.size();
    ASSERT_EQ(EVP_PKEY_get_raw_public_key(key, encoded.data(), &size), 1);
    encoded.resize(size);
    EVP_PKEY_free(key);
    EVP_PKEY_CTX_free(context);
    const std::string jwk =
        std::format(R"({{"alg":"{}","kty":"AKP","pub":"{}"}})", example.name, base64url(encoded));
    std::array<uint8_t, SHA256_DIGEST_LENGTH> digest;
    SHA256(as_bytes(jwk).data(), jwk.size(), digest.data());
    EXPECT_EQ(base64url(digest), example.kid);
  }
}

// ---- sizes --------------------------------------------------------------------------------------

TEST(Jws, Es256IsRAndSNeverDer) {
  const auto signer = new_openssl_signer(jose_algorithms().front());
  ASSERT_TRUE(signer.has_value());
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ((*signer)->sign(as_bytes("x"))->size(), 64u);  // RFC 7518 3.4
  }
  EXPECT_FALSE((*signer)->verify(as_bytes("x"), std::vector<uint8_t>(70, 1)).has_value());
}

TEST(Jws, TamperedTokensDoNotVerify) {
  for (const JoseAlgorithm& algorithm : jose_algorithms()) {
    if (algorithm.key == "Falcon-512" || algorithm.key.starts_with("SLH-DSA-SHA2-128s")) continue;
    const auto signer = new_openssl_signer(algorithm);
    ASSERT_TRUE(signer.has_value()) << signer.error().message;
    const auto token = sign_token(**signer, algorithm.alg, R"({"iss":"a"})");
    ASSERT_TRUE(token.has_value()) << token.error().message;
    EXPECT_TRUE(verify_token(**signer, token->compact()).value());
    Jws other = *token;
    other.payload = base64url(as_bytes(R"({"iss":"b"})"));
    EXPECT_FALSE(verify_token(**signer, other.compact()).value()) << algorithm.shown;
  }
}

TEST(Jws, WhatIsNoCompactTokenIsAnError) {
  const auto signer = new_openssl_signer(jose_algorithms().front());
  for (const char* bad : {"", "a", "a.b", "YQ.YQ.YQ.YQ", "YQ.YQ.Y+", "YQ.Y=.YQ"}) {
    EXPECT_FALSE(verify_token(**signer, bad).has_value()) << bad;
  }
}

}  // namespace
}  // namespace pqedge::measure
