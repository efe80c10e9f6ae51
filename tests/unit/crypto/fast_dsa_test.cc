// ML-DSA (FIPS 204) by pqedge-fast.so, beside OpenSSL's own.
#include <gtest/gtest.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/provider.h>

#include <map>
#include <memory>
#include <string>

#include "crypto/fast_provider.h"
#include "crypto/fast_provider_check.h"
#include "crypto/handles.h"
#include "unit/crypto/fast_module.h"

namespace pqedge::crypto {
namespace {

using namespace fast_check;
using FastDsa = WithFastModule;

constexpr const char* kSets[] = {"ML-DSA-44", "ML-DSA-65", "ML-DSA-87"};

KeyPtr make_key(const char* name) { return KeyPtr(EVP_PKEY_Q_keygen(nullptr, nullptr, name)); }

TEST_F(FastDsa, KnownAnswers) {
  const auto right = check_signatures();
  EXPECT_TRUE(right) << right.error().message;
}

// FIPS 204 7.2: what a private key contains more than once has to agree.
TEST_F(FastDsa, APrivateKeyThatIsNoneIsRefused) {
  for (const char* name : kSets) {
    const KeyPtr key = make_key(name);
    const Octets whole = part_of(key, OSSL_PKEY_PARAM_PRIV_KEY);
    ASSERT_FALSE(whole.empty());
    EXPECT_NE(import_key(name, kFastAlone, OSSL_PKEY_PARAM_PRIV_KEY, whole), nullptr) << name;
    Octets shorter = whole;
    shorter.pop_back();
    EXPECT_EQ(import_key(name, kFastAlone, OSSL_PKEY_PARAM_PRIV_KEY, shorter), nullptr) << name;
    // tr is the hash of the public key, t0 the low half of what that has the high half of.
    for (const size_t at : {size_t{70}, whole.size() - 1}) {
      Octets changed = whole;
      changed[at] ^= 1;
      EXPECT_EQ(import_key(name, kFastAlone, OSSL_PKEY_PARAM_PRIV_KEY, changed), nullptr)
          << name << ", octet " << at;
    }
    Octets seed(31, 1);
    EXPECT_EQ(import_key(name, kFastAlone, OSSL_PKEY_PARAM_ML_DSA_SEED, seed), nullptr) << name;
  }
  ERR_clear_error();
}

TEST_F(FastDsa, APublicKeyOfAnotherSizeIsRefused) {
  for (const char* name : kSets) {
    Octets bytes = part_of(make_key(name), OSSL_PKEY_PARAM_PUB_KEY);
    EXPECT_NE(import_key(name, kFastAlone, OSSL_PKEY_PARAM_PUB_KEY, bytes), nullptr) << name;
    bytes.push_back(0);
    EXPECT_EQ(import_key(name, kFastAlone, OSSL_PKEY_PARAM_PUB_KEY, bytes), nullptr) << name;
  }
  ERR_clear_error();
}

TEST_F(FastDsa, WhatWouldSignSomethingElseIsRefused) {
  const KeyPtr key = make_key("ML-DSA-65");
  const auto begins = [&](const char* digest, const OSSL_PARAM* params) {
    const std::unique_ptr<EVP_MD_CTX, FreeWith<EVP_MD_CTX_free>> context(EVP_MD_CTX_new());
    return EVP_DigestSignInit_ex(context.get(), nullptr, digest, nullptr, kFastAlone, key.get(),
                                 params) == 1;
  };
  EXPECT_TRUE(begins(nullptr, nullptr));
  EXPECT_FALSE(begins("SHA256", nullptr));
  char text[] = "context";
  const OSSL_PARAM context_string[] = {
      OSSL_PARAM_construct_octet_string(OSSL_SIGNATURE_PARAM_CONTEXT_STRING, text, sizeof text),
      OSSL_PARAM_construct_end()};
  EXPECT_FALSE(begins(nullptr, context_string));
  int one = 1;
  const OSSL_PARAM mu[] = {OSSL_PARAM_construct_int(OSSL_SIGNATURE_PARAM_MU, &one),
                           OSSL_PARAM_construct_end()};
  EXPECT_FALSE(begins(nullptr, mu));
  int raw = 0;
  const OSSL_PARAM encoding[] = {
      OSSL_PARAM_construct_int(OSSL_SIGNATURE_PARAM_MESSAGE_ENCODING, &raw),
      OSSL_PARAM_construct_end()};
  EXPECT_FALSE(begins(nullptr, encoding));
  ERR_clear_error();
}

using Scheme = std::map<std::string, std::string>;

// The signature schemes of TLS that a provider names, by their names.
std::map<std::string, Scheme> schemes_of(const char* provider) {
  std::map<std::string, Scheme> out;
  const std::unique_ptr<OSSL_PROVIDER, FreeWith<OSSL_PROVIDER_unload>> loaded(
      OSSL_PROVIDER_load(nullptr, provider));
  OSSL_PROVIDER_get_capabilities(
      loaded.get(), "TLS-SIGALG",
      [](const OSSL_PARAM* params, void* into) {
        Scheme scheme;
        for (const OSSL_PARAM* p = params; p->key != nullptr; ++p) {
          int64_t number = 0;
          scheme[p->key] = p->data_type == OSSL_PARAM_UTF8_STRING
                               ? std::string(static_cast<const char*>(p->data), p->data_size)
                           : OSSL_PARAM_get_int64(p, &number) == 1 ? std::to_string(number)
                                                                   : "?";
          // A text's size may count its end.
          while (scheme[p->key].ends_with('\0')) scheme[p->key].pop_back();
        }
        (*static_cast<std::map<std::string, Scheme>*>(into))[scheme["tls-sigalg-name"]] = scheme;
        return 1;
      },
      &out);
  return out;
}

TEST_F(FastDsa, SchemesAreThoseOfOpenssl) {
  const auto own = schemes_of("default");
  const auto fast = schemes_of(kFastProvider);
  ASSERT_EQ(fast.size(), 3u);
  for (const auto& [name, scheme] : fast) {
    const auto found = own.find(name);
    ASSERT_NE(found, own.end()) << name;
    EXPECT_EQ(scheme, found->second) << name;
  }
}

}  // namespace
}  // namespace pqedge::crypto
