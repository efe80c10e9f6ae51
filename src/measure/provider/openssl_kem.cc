// ML-KEM, and the hybrids that OpenSSL has as single KEMs (RFC 10024).
#include "measure/provider/catalogue.h"
#include "measure/provider/openssl.h"

namespace pqedge::measure::openssl {

namespace {

class PublicKey final : public KemPublicKey {
 public:
  PublicKey(KeyPtr key, KeyContext context, Sizes sizes)
      : key_(std::move(key)), context_(std::move(context)), sizes_(sizes) {}

  Result<void> encapsulate(std::vector<uint8_t>& ciphertext,
                           std::vector<uint8_t>& secret) override {
    size_t ciphertext_length = sizes_.output;
    size_t secret_length = sizes_.secret;
    ciphertext.resize(ciphertext_length);
    secret.resize(secret_length);
    if (EVP_PKEY_encapsulate(context_.get(), ciphertext.data(), &ciphertext_length, secret.data(),
                             &secret_length) != 1) {
      return failed("encapsulation");
    }
    ciphertext.resize(ciphertext_length);
    secret.resize(secret_length);
    return {};
  }

 private:
  KeyPtr key_;
  KeyContext context_;
  Sizes sizes_;
};

class KeyPair final : public KemKeyPair {
 public:
  KeyPair(KeyPtr key, Sizes sizes) : key_(std::move(key)), sizes_(sizes) {}

  Result<std::vector<uint8_t>> public_key() const override { return encoded_public(key_.get()); }

  Result<void> decapsulate(Bytes ciphertext, std::vector<uint8_t>& secret) override {
    // Made with the first ciphertext, not with the key: libssl makes it then, too.
    if (!context_) {
      context_.reset(EVP_PKEY_CTX_new_from_pkey(nullptr, key_.get(), nullptr));
      if (!context_ || EVP_PKEY_decapsulate_init(context_.get(), nullptr) != 1) {
        return failed("decapsulation");
      }
    }
    size_t length = sizes_.secret;
    secret.resize(length);
    if (EVP_PKEY_decapsulate(context_.get(), secret.data(), &length, ciphertext.data(),
                             ciphertext.size()) != 1) {
      return failed("decapsulation");
    }
    secret.resize(length);
    return {};
  }

 private:
  KeyPtr key_;
  KeyContext context_;
  Sizes sizes_;
};

class OpensslKem final : public Kem {
 public:
  OpensslKem(std::string name, KeyContext generator)
      : name_(std::move(name)), generator_(std::move(generator)), sizes_(sizes_of(name_)) {}

  Result<std::unique_ptr<KemKeyPair>> generate() override {
    return wrap(openssl::generate(generator_.get()));
  }

  Result<std::unique_ptr<KemPublicKey>> parse_public(Bytes encoded) override {
    auto key = import_public(name_.c_str(), "", encoded);
    if (!key) return std::unexpected(key.error());
    KeyContext context(EVP_PKEY_CTX_new_from_pkey(nullptr, key->get(), nullptr));
    if (!context || EVP_PKEY_encapsulate_init(context.get(), nullptr) != 1) {
      return failed("encapsulation");
    }
    return std::make_unique<PublicKey>(std::move(*key), std::move(context), sizes_);
  }

  Sizes sizes() const override { return sizes_; }

  Result<std::unique_ptr<KemKeyPair>> from_seed(Bytes seed) override {
    if (!name_.starts_with("ML-KEM-")) return not_offered("a hybrid of OpenSSL has no seed");
    return wrap(generate_from_seed(name_.c_str(), seed));
  }
  Result<std::unique_ptr<KemKeyPair>> from_private(Bytes encoded) override {
    return wrap(import_raw_private(name_.c_str(), encoded));
  }

 private:
  Result<std::unique_ptr<KemKeyPair>> wrap(Result<KeyPtr> key) const {
    if (!key) return std::unexpected(key.error());
    return std::make_unique<KeyPair>(std::move(*key), sizes_);
  }

  std::string name_;
  KeyContext generator_;
  Sizes sizes_;
};

}  // namespace

std::unique_ptr<Kem> make_kem(std::string_view algorithm) {
  const auto* entry = find_algorithm(algorithm);
  if (!entry || entry->kind != Kind::kem) return nullptr;
  std::string name(algorithm);
  auto generator = make_generator(name.c_str(), "");
  if (!generator) return nullptr;
  return std::make_unique<OpensslKem>(std::move(name), std::move(*generator));
}

}  // namespace pqedge::measure::openssl
