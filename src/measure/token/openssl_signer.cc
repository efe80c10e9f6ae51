#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/params.h>
#include <openssl/rsa.h>

#include "measure/token/jws.h"

namespace pqedge::measure {

using crypto::FreeWith;
using crypto::KeyPtr;
using crypto::take_openssl_error;

namespace {

constexpr size_t kP256Number = 32;

using DigestPtr = std::unique_ptr<EVP_MD_CTX, FreeWith<EVP_MD_CTX_free>>;
using KeyContextPtr = std::unique_ptr<EVP_PKEY_CTX, FreeWith<EVP_PKEY_CTX_free>>;
using EcSignaturePtr = std::unique_ptr<ECDSA_SIG, FreeWith<ECDSA_SIG_free>>;
using NumberPtr = std::unique_ptr<BIGNUM, FreeWith<BN_free>>;

Result<std::vector<uint8_t>> numbers_of(Bytes der) {
  const unsigned char* at = der.data();
  const EcSignaturePtr signature(d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(der.size())));
  std::vector<uint8_t> out(2 * kP256Number);
  if (signature == nullptr ||
      BN_bn2binpad(ECDSA_SIG_get0_r(signature.get()), out.data(), kP256Number) < 0 ||
      BN_bn2binpad(ECDSA_SIG_get0_s(signature.get()), out.data() + kP256Number, kP256Number) < 0) {
    return fail("an ECDSA signature cannot be read: {}", take_openssl_error());
  }
  return out;
}

Result<std::vector<uint8_t>> der_of(Bytes numbers) {
  if (numbers.size() != 2 * kP256Number) return fail("an ES256 signature has 64 bytes");
  const EcSignaturePtr signature(ECDSA_SIG_new());
  NumberPtr r(BN_bin2bn(numbers.data(), kP256Number, nullptr));
  NumberPtr s(BN_bin2bn(numbers.data() + kP256Number, kP256Number, nullptr));
  if (!signature || !r || !s || ECDSA_SIG_set0(signature.get(), r.get(), s.get()) != 1) {
    return fail("an ECDSA signature cannot be made: {}", take_openssl_error());
  }
  r.release();  // the signature's now
  s.release();
  unsigned char* der = nullptr;
  const int length = i2d_ECDSA_SIG(signature.get(), &der);
  if (length <= 0) return fail("an ECDSA signature cannot be encoded: {}", take_openssl_error());
  std::vector<uint8_t> out(der, der + length);
  OPENSSL_free(der);
  return out;
}

enum class Scheme : uint8_t { es256, ps256, one_shot };

class OpensslSigner : public TokenSigner {
 public:
  OpensslSigner(KeyPtr key, Scheme scheme, bool deterministic)
      : key_(std::move(key)), scheme_(scheme), deterministic_(deterministic) {}

  Result<std::vector<uint8_t>> sign(Bytes message) override {
    crypto::clear_errors();
    const DigestPtr digest(EVP_MD_CTX_new());
    EVP_PKEY_CTX* context = nullptr;
    size_t size = 0;
    bool done = digest != nullptr &&
                EVP_DigestSignInit(digest.get(), &context, md(), nullptr, key_.get()) == 1 &&
                configure(context) && choose_variant(context) &&
                EVP_DigestSign(digest.get(), nullptr, &size, message.data(), message.size()) == 1;
    std::vector<uint8_t> signature(size);
    done = done && EVP_DigestSign(digest.get(), signature.data(), &size, message.data(),
                                  message.size()) == 1;
    if (!done) return fail("cannot sign: {}", take_openssl_error());
    signature.resize(size);
    if (scheme_ == Scheme::es256) return numbers_of(signature);
    return signature;
  }

  Result<bool> verify(Bytes message, Bytes signature) override {
    std::vector<uint8_t> der;
    if (scheme_ == Scheme::es256) {
      auto encoded = der_of(signature);
      if (!encoded) return std::unexpected(encoded.error());
      der = std::move(*encoded);
      signature = der;
    }
    crypto::clear_errors();
    const DigestPtr digest(EVP_MD_CTX_new());
    EVP_PKEY_CTX* context = nullptr;
    if (digest == nullptr ||
        EVP_DigestVerifyInit(digest.get(), &context, md(), nullptr, key_.get()) != 1 ||
        !configure(context)) {
      return fail("cannot verify: {}", take_openssl_error());
    }
    const int status = EVP_DigestVerify(digest.get(), signature.data(), signature.size(),
                                        message.data(), message.size());
    crypto::clear_errors();
    return status == 1;
  }

 private:
  const EVP_MD* md() const { return scheme_ == Scheme::one_shot ? nullptr : EVP_sha256(); }

  // RFC 7518 3.5: the salt is as long as the hash.
  bool configure(EVP_PKEY_CTX* context) const {
    return scheme_ != Scheme::ps256 ||
           (EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PSS_PADDING) == 1 &&
            EVP_PKEY_CTX_set_rsa_pss_saltlen(context, RSA_PSS_SALTLEN_DIGEST) == 1);
  }

  bool choose_variant(EVP_PKEY_CTX* context) const {
    if (!deterministic_) return true;
    int on = 1;
    const OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_int(OSSL_SIGNATURE_PARAM_DETERMINISTIC, &on),
        OSSL_PARAM_construct_end()};
    return EVP_PKEY_CTX_set_params(context, parameters) == 1;
  }

  KeyPtr key_;
  Scheme scheme_;
  bool deterministic_;
};

}  // namespace

Result<std::unique_ptr<TokenSigner>> new_openssl_signer(const JoseAlgorithm& algorithm) {
  crypto::clear_errors();
  KeyPtr key;
  Scheme scheme = Scheme::one_shot;
  if (algorithm.key == "ECDSA-P256") {
    key.reset(EVP_EC_gen("P-256"));
    scheme = Scheme::es256;
  } else if (algorithm.key == "RSA-2048" || algorithm.key == "RSA-3072") {
    key.reset(EVP_RSA_gen(algorithm.key == "RSA-2048" ? 2048U : 3072U));
    scheme = Scheme::ps256;
  } else {
    key.reset(EVP_PKEY_Q_keygen(nullptr, nullptr, std::string(algorithm.key).c_str()));
  }
  if (key == nullptr) {
    return fail("OpenSSL makes no key of {}: {}", algorithm.key, take_openssl_error());
  }
  return std::make_unique<OpensslSigner>(std::move(key), scheme, false);
}

Result<std::unique_ptr<TokenSigner>> ml_dsa_signer(const std::string& name, Bytes seed,
                                                   bool deterministic) {
  crypto::clear_errors();
  const KeyContextPtr context(EVP_PKEY_CTX_new_from_name(nullptr, name.c_str(), nullptr));
  std::vector<uint8_t> copy(seed.begin(), seed.end());
  const OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_ML_DSA_SEED, copy.data(), copy.size()),
      OSSL_PARAM_construct_end()};
  EVP_PKEY* key = nullptr;
  if (context == nullptr || EVP_PKEY_keygen_init(context.get()) != 1 ||
      EVP_PKEY_CTX_set_params(context.get(), parameters) != 1 ||
      EVP_PKEY_generate(context.get(), &key) != 1) {
    return fail("OpenSSL makes no {} key of this seed: {}", name, take_openssl_error());
  }
  return std::make_unique<OpensslSigner>(KeyPtr(key), Scheme::one_shot, deterministic);
}

}  // namespace pqedge::measure
