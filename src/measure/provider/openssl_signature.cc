// Signatures as CertificateVerify makes them (RFC 8446 4.4.3): hash and signature in one call, the
// context reused. RSA-PSS is over SHA-256 with a salt as long, whatever the key
// (rsa_pss_rsae_sha256).
#include <openssl/rsa.h>

#include "measure/provider/catalogue.h"
#include "measure/provider/openssl.h"

namespace pqedge::measure::openssl {

namespace {

struct Scheme {
  const char* name;
  const char* type;
  const char* group;  // a curve
  unsigned rsa_bits;
  const char* digest;  // null: the algorithm hashes by itself
};

constexpr Scheme kSchemes[] = {
    {"ML-DSA-44", "ML-DSA-44", "", 0, nullptr},
    {"ML-DSA-65", "ML-DSA-65", "", 0, nullptr},
    {"ML-DSA-87", "ML-DSA-87", "", 0, nullptr},
    {"SLH-DSA-SHA2-128s", "SLH-DSA-SHA2-128s", "", 0, nullptr},
    {"SLH-DSA-SHA2-128f", "SLH-DSA-SHA2-128f", "", 0, nullptr},
    {"SLH-DSA-SHA2-192s", "SLH-DSA-SHA2-192s", "", 0, nullptr},
    {"SLH-DSA-SHA2-192f", "SLH-DSA-SHA2-192f", "", 0, nullptr},
    {"SLH-DSA-SHA2-256s", "SLH-DSA-SHA2-256s", "", 0, nullptr},
    {"SLH-DSA-SHA2-256f", "SLH-DSA-SHA2-256f", "", 0, nullptr},
    {"SLH-DSA-SHAKE-128s", "SLH-DSA-SHAKE-128s", "", 0, nullptr},
    {"SLH-DSA-SHAKE-128f", "SLH-DSA-SHAKE-128f", "", 0, nullptr},
    {"SLH-DSA-SHAKE-192s", "SLH-DSA-SHAKE-192s", "", 0, nullptr},
    {"SLH-DSA-SHAKE-192f", "SLH-DSA-SHAKE-192f", "", 0, nullptr},
    {"SLH-DSA-SHAKE-256s", "SLH-DSA-SHAKE-256s", "", 0, nullptr},
    {"SLH-DSA-SHAKE-256f", "SLH-DSA-SHAKE-256f", "", 0, nullptr},
    {"RSA-2048-PSS", "RSA", "", 2048, "SHA256"},
    {"RSA-3072-PSS", "RSA", "", 3072, "SHA256"},
    {"RSA-4096-PSS", "RSA", "", 4096, "SHA256"},
    {"ECDSA-P256", "EC", "P-256", 0, "SHA256"},
    {"ECDSA-P384", "EC", "P-384", 0, "SHA384"},
    {"Ed25519", "ED25519", "", 0, nullptr},
};

// What has to be said at each start of a signature: RSA forgets it.
struct Padding {
  explicit Padding(const Scheme& scheme, const char* salt) {
    if (scheme.rsa_bits != 0) {
      params[0] = OSSL_PARAM_construct_utf8_string(
          OSSL_SIGNATURE_PARAM_PAD_MODE, const_cast<char*>(OSSL_PKEY_RSA_PAD_MODE_PSS), 0);
      params[1] = OSSL_PARAM_construct_utf8_string(OSSL_SIGNATURE_PARAM_PSS_SALTLEN,
                                                   const_cast<char*>(salt), 0);
      params[2] = OSSL_PARAM_construct_end();
    } else {
      params[0] = OSSL_PARAM_construct_end();
    }
  }
  OSSL_PARAM params[3];
};

class KeyVerifier final : public Verifier {
 public:
  // A salt of another length than TLS's is taken, too: the vectors of RSA have such.
  KeyVerifier(const Scheme& scheme, KeyPtr key)
      : scheme_(scheme), key_(std::move(key)), padding_(scheme, OSSL_PKEY_RSA_PSS_SALT_LEN_AUTO) {}

  Result<bool> verify(Bytes message, Bytes signature) override {
    bool first = !context_;
    if (first) context_.reset(EVP_MD_CTX_new());
    if (EVP_DigestVerifyInit_ex(context_.get(), nullptr, first ? scheme_.digest : nullptr, nullptr,
                                nullptr, first ? key_.get() : nullptr, padding_.params) != 1) {
      return failed("start of a verification");
    }
    int answer = EVP_DigestVerify(context_.get(), signature.data(), signature.size(),
                                  message.data(), message.size());
    if (answer != 1) crypto::clear_errors();
    return answer == 1;
  }

 private:
  const Scheme& scheme_;
  KeyPtr key_;
  DigestContext context_;
  Padding padding_;
};

class KeyPair final : public SignatureKeyPair {
 public:
  KeyPair(const Scheme& scheme, KeyPtr key)
      : scheme_(scheme),
        key_(std::move(key)),
        padding_(scheme, OSSL_PKEY_RSA_PSS_SALT_LEN_DIGEST),
        longest_(static_cast<size_t>(EVP_PKEY_get_size(key_.get()))) {}

  Result<std::vector<uint8_t>> public_key() const override {
    if (scheme_.rsa_bits == 0 && *scheme_.group == '\0') return raw_public();
    if (scheme_.rsa_bits == 0) return encoded_public(key_.get());
    unsigned char* der = nullptr;
    int length = i2d_PublicKey(key_.get(), &der);
    if (length <= 0) return failed("encoding of a public key");
    std::vector<uint8_t> copy(der, der + length);
    OPENSSL_free(der);
    return copy;
  }

  Result<void> sign(Bytes message, std::vector<uint8_t>& signature) override {
    bool first = !context_;
    if (first) context_.reset(EVP_MD_CTX_new());
    if (EVP_DigestSignInit_ex(context_.get(), nullptr, first ? scheme_.digest : nullptr, nullptr,
                              nullptr, first ? key_.get() : nullptr, padding_.params) != 1) {
      return failed("start of a signature");
    }
    return finish(context_.get(), message, signature);
  }

  Result<std::vector<uint8_t>> sign_deterministic(Bytes message) {
    int yes = 1;
    OSSL_PARAM params[] = {OSSL_PARAM_construct_int(OSSL_SIGNATURE_PARAM_DETERMINISTIC, &yes),
                           OSSL_PARAM_construct_end()};
    DigestContext context(EVP_MD_CTX_new());
    if (EVP_DigestSignInit_ex(context.get(), nullptr, nullptr, nullptr, nullptr, key_.get(),
                              params) != 1) {
      return failed("start of a signature");
    }
    std::vector<uint8_t> signature;
    if (auto done = finish(context.get(), message, signature); !done) {
      return std::unexpected(done.error());
    }
    return signature;
  }

 private:
  Result<void> finish(EVP_MD_CTX* context, Bytes message, std::vector<uint8_t>& signature) const {
    size_t length = longest_;
    signature.resize(length);
    if (EVP_DigestSign(context, signature.data(), &length, message.data(), message.size()) != 1) {
      return failed("signature");
    }
    signature.resize(length);
    return {};
  }

  Result<std::vector<uint8_t>> raw_public() const {
    size_t length = 0;
    if (EVP_PKEY_get_raw_public_key(key_.get(), nullptr, &length) != 1) return failed("public key");
    std::vector<uint8_t> raw(length);
    if (EVP_PKEY_get_raw_public_key(key_.get(), raw.data(), &length) != 1) {
      return failed("public key");
    }
    return raw;
  }

  const Scheme& scheme_;
  KeyPtr key_;
  DigestContext context_;
  Padding padding_;
  size_t longest_;
};

class OpensslSignature final : public Signature {
 public:
  OpensslSignature(const Scheme& scheme, KeyContext generator)
      : scheme_(scheme), generator_(std::move(generator)) {}

  Result<std::unique_ptr<SignatureKeyPair>> generate() override {
    return wrap(openssl::generate(generator_.get()));
  }

  Result<std::unique_ptr<Verifier>> parse_public(Bytes encoded) override {
    auto key = parse(encoded);
    if (!key) return std::unexpected(key.error());
    return std::make_unique<KeyVerifier>(scheme_, std::move(*key));
  }

  Sizes sizes() const override { return sizes_of(scheme_.name); }

  Result<std::unique_ptr<SignatureKeyPair>> from_seed(Bytes seed) override {
    std::string_view type = scheme_.type;
    if (type == "ED25519") return wrap(import_raw_private(scheme_.type, seed));
    if (scheme_.digest) return not_offered("the scheme has no seed");
    return wrap(generate_from_seed(scheme_.type, seed));
  }

  Result<std::vector<uint8_t>> sign_deterministic(Bytes private_key, Bytes message) override {
    if (scheme_.digest || std::string_view(scheme_.type) == "ED25519") {
      return not_offered("the scheme has no deterministic variant");
    }
    auto key = import_raw_private(scheme_.type, private_key);
    if (!key) return std::unexpected(key.error());
    return KeyPair(scheme_, std::move(*key)).sign_deterministic(message);
  }

 private:
  Result<KeyPtr> parse(Bytes encoded) const {
    if (scheme_.rsa_bits == 0) return import_public(scheme_.type, scheme_.group, encoded);
    crypto::clear_errors();
    const uint8_t* at = encoded.data();
    KeyPtr key(d2i_PublicKey(EVP_PKEY_RSA, nullptr, &at, static_cast<long>(encoded.size())));
    if (!key) return failed("an RSA public key");
    return key;
  }
  Result<std::unique_ptr<SignatureKeyPair>> wrap(Result<KeyPtr> key) const {
    if (!key) return std::unexpected(key.error());
    return std::make_unique<KeyPair>(scheme_, std::move(*key));
  }

  const Scheme& scheme_;
  KeyContext generator_;
};

}  // namespace

std::unique_ptr<Signature> make_signature(std::string_view algorithm) {
  for (const auto& scheme : kSchemes) {
    if (algorithm != scheme.name) continue;
    auto generator = make_generator(scheme.type, scheme.group, scheme.rsa_bits);
    if (!generator) return nullptr;
    return std::make_unique<OpensslSignature>(scheme, std::move(*generator));
  }
  return nullptr;
}

}  // namespace pqedge::measure::openssl
