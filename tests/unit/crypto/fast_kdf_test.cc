// HKDF (RFC 5869) and TLS 1.3's key schedule (RFC 8446 7.1) by pqedge-fast.so, beside OpenSSL's
// own.
#include <gtest/gtest.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#include <array>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "crypto/fast_provider.h"
#include "crypto/fast_provider_check.h"
#include "crypto/handles.h"
#include "unit/crypto/fast_module.h"

namespace pqedge::crypto {
namespace {

using KdfContextPtr = std::unique_ptr<EVP_KDF_CTX, FreeWith<EVP_KDF_CTX_free>>;

using FastKdf = WithFastModule;

KdfContextPtr context(const char* kdf, const char* properties) {
  const std::unique_ptr<EVP_KDF, FreeWith<EVP_KDF_free>> fetched(
      EVP_KDF_fetch(nullptr, kdf, properties));
  return KdfContextPtr(EVP_KDF_CTX_new(fetched.get()));
}

// Parameters that keep what they point to.
class Parameters {
 public:
  Parameters& hash(std::string name) { return text(OSSL_KDF_PARAM_DIGEST, std::move(name)); }
  Parameters& mode(int value) {
    modes_.push_back(std::make_unique<int>(value));
    list_.push_back(OSSL_PARAM_construct_int(OSSL_KDF_PARAM_MODE, modes_.back().get()));
    return *this;
  }
  Parameters& text(const char* key, std::string value) {
    kept_.push_back(std::make_unique<std::string>(std::move(value)));
    list_.push_back(OSSL_PARAM_construct_utf8_string(key, kept_.back()->data(), 0));
    return *this;
  }
  Parameters& octets(const char* key, std::string value) {
    kept_.push_back(std::make_unique<std::string>(std::move(value)));
    list_.push_back(
        OSSL_PARAM_construct_octet_string(key, kept_.back()->data(), kept_.back()->size()));
    return *this;
  }
  const OSSL_PARAM* list() {
    list_.push_back(OSSL_PARAM_construct_end());
    return list_.data();
  }

 private:
  std::vector<std::unique_ptr<int>> modes_;
  std::vector<std::unique_ptr<std::string>> kept_;
  std::vector<OSSL_PARAM> list_;
};

// Empty: refused.
std::string derive(EVP_KDF_CTX* from, size_t size, const OSSL_PARAM* params) {
  std::string out(size, '\0');
  const bool good =
      EVP_KDF_derive(from, reinterpret_cast<unsigned char*>(out.data()), size, params) == 1;
  return good ? out : std::string();
}

TEST_F(FastKdf, KnownAnswers) {
  const auto right = fast_check::check_derivation();
  EXPECT_TRUE(right) << right.error().message;
}

TEST_F(FastKdf, RandomQuestionsAreAnsweredAsOpensslDoes) {
  std::mt19937 random(20261201);
  const auto octets = [&](size_t most) {
    std::string out(1 + random() % most, '\0');
    for (char& c : out) c = static_cast<char>(random());
    return out;
  };
  size_t answered = 0;
  for (int i = 0; i < 3000; ++i) {
    const bool tls13 = random() % 2 == 0;
    const char* const hashes[] = {"SHA2-256", "sha256", "SHA-384", "SHA2-384", "SHA512"};
    Parameters p;
    p.hash(hashes[random() % 5]).mode(static_cast<int>(random() % 3));
    if (random() % 8 != 0) p.octets(OSSL_KDF_PARAM_KEY, octets(200));
    if (random() % 2 != 0) p.octets(OSSL_KDF_PARAM_SALT, octets(200));
    if (tls13) {
      if (random() % 8 != 0) p.octets(OSSL_KDF_PARAM_PREFIX, "tls13 ");
      if (random() % 8 != 0) p.octets(OSSL_KDF_PARAM_LABEL, octets(20));
      if (random() % 2 != 0) p.octets(OSSL_KDF_PARAM_DATA, octets(64));
    } else if (random() % 2 != 0) {
      p.octets(OSSL_KDF_PARAM_INFO, octets(300));
    }
    const size_t sizes[] = {12, 16, 32, 48, 64, 255};
    const size_t size = sizes[random() % 6];
    const char* const kdf = tls13 ? "TLS13-KDF" : "HKDF";
    const OSSL_PARAM* const params = p.list();
    const std::string own = derive(context(kdf, kOpensslAlone).get(), size, params);
    ASSERT_EQ(derive(context(kdf, kFastAlone).get(), size, params), own) << kdf << ", case " << i;
    answered += own.empty() ? 0 : 1;
  }
  EXPECT_GT(answered, 1000u);
  ERR_clear_error();
}

TEST_F(FastKdf, AContextKeepsWhatItWasGivenBefore) {
  for (const char* properties : {kOpensslAlone, kFastAlone}) {
    const KdfContextPtr kept = context("HKDF", properties);
    Parameters before;
    before.hash("SHA2-256").octets(OSSL_KDF_PARAM_SALT, "salt").octets(OSSL_KDF_PARAM_KEY, "first");
    ASSERT_EQ(EVP_KDF_CTX_set_params(kept.get(), before.list()), 1);
    Parameters again;
    again.octets(OSSL_KDF_PARAM_KEY, "second").octets(OSSL_KDF_PARAM_INFO, "info");
    ASSERT_EQ(EVP_KDF_CTX_set_params(kept.get(), again.list()), 1);
    const KdfContextPtr copy(EVP_KDF_CTX_dup(kept.get()));
    ASSERT_NE(copy, nullptr);

    Parameters all;
    all.hash("SHA2-256")
        .octets(OSSL_KDF_PARAM_SALT, "salt")
        .octets(OSSL_KDF_PARAM_KEY, "second")
        .octets(OSSL_KDF_PARAM_INFO, "info");
    const std::string expected = derive(context("HKDF", kOpensslAlone).get(), 42, all.list());
    ASSERT_FALSE(expected.empty());
    EXPECT_EQ(derive(kept.get(), 42, nullptr), expected) << properties;
    EVP_KDF_CTX_reset(kept.get());
    EXPECT_EQ(derive(kept.get(), 42, nullptr), "") << properties;
    EXPECT_EQ(derive(copy.get(), 42, nullptr), expected) << properties;
  }
  ERR_clear_error();
}

TEST_F(FastKdf, SaysHowMuchItGives) {
  for (const char* properties : {kOpensslAlone, kFastAlone}) {
    const KdfContextPtr one = context("HKDF", properties);
    Parameters extract;
    extract.hash("SHA2-384").mode(EVP_KDF_HKDF_MODE_EXTRACT_ONLY);
    EXPECT_EQ(EVP_KDF_CTX_get_kdf_size(one.get()), SIZE_MAX) << properties;
    ASSERT_EQ(EVP_KDF_CTX_set_params(one.get(), extract.list()), 1);
    EXPECT_EQ(EVP_KDF_CTX_get_kdf_size(one.get()), 48u) << properties;
  }
}

TEST_F(FastKdf, RefusesWhatItHasNot) {
  const auto set = [](const char* kdf, Parameters& p) {
    return EVP_KDF_CTX_set_params(context(kdf, kFastAlone).get(), p.list());
  };
  Parameters hash;
  hash.hash("SHA1");
  EXPECT_EQ(set("HKDF", hash), 0);
  Parameters mode;
  mode.text(OSSL_KDF_PARAM_MODE, "EXPAND");
  EXPECT_EQ(set("HKDF", mode), 0);
  Parameters both;
  both.mode(EVP_KDF_HKDF_MODE_EXTRACT_AND_EXPAND);
  EXPECT_EQ(set("TLS13-KDF", both), 0);
  Parameters infos;  // OpenSSL's own joins them
  infos.octets(OSSL_KDF_PARAM_INFO, "a").octets(OSSL_KDF_PARAM_INFO, "b");
  EXPECT_EQ(set("HKDF", infos), 0);
  Parameters named;
  named.text(OSSL_KDF_PARAM_MODE, "expand_only");
  EXPECT_EQ(set("TLS13-KDF", named), 1);
  ERR_clear_error();
}

}  // namespace
}  // namespace pqedge::crypto
