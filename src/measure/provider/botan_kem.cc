#include <botan/ml_kem.h>
#include <botan/pubkey.h>
#include <botan/rng.h>

#include "measure/provider/botan.h"
#include "measure/provider/catalogue.h"

namespace pqedge::measure::botan {

namespace {

// The shared secret as the scheme gives it, without a key derivation after it.
constexpr std::string_view kRaw = "Raw";

class PublicKey final : public KemPublicKey {
 public:
  PublicKey(const Botan::ML_KEM_PublicKey& key, Rng rng, Sizes sizes)
      : encryptor_(key, kRaw), rng_(std::move(rng)), sizes_(sizes) {}

  Result<void> encapsulate(std::vector<uint8_t>& ciphertext,
                           std::vector<uint8_t>& secret) override {
    ciphertext.resize(sizes_.output);
    secret.resize(sizes_.secret);
    return attempt("encapsulation", [&] {
      encryptor_.encrypt(std::span<uint8_t>(ciphertext), std::span<uint8_t>(secret), *rng_,
                         sizes_.secret);
    });
  }

 private:
  Botan::PK_KEM_Encryptor encryptor_;
  Rng rng_;
  Sizes sizes_;
};

class KeyPair final : public KemKeyPair {
 public:
  KeyPair(std::unique_ptr<Botan::ML_KEM_PrivateKey> key, Rng rng, Sizes sizes)
      : key_(std::move(key)), rng_(std::move(rng)), sizes_(sizes) {}

  Result<std::vector<uint8_t>> public_key() const override {
    return attempt("public key", [&] { return key_->raw_public_key_bits(); });
  }

  Result<void> decapsulate(Bytes ciphertext, std::vector<uint8_t>& secret) override {
    secret.resize(sizes_.secret);
    return attempt("decapsulation", [&] {
      if (!decryptor_) decryptor_ = std::make_unique<Botan::PK_KEM_Decryptor>(*key_, *rng_, kRaw);
      decryptor_->decrypt(std::span<uint8_t>(secret), ciphertext, sizes_.secret);
    });
  }

 private:
  std::unique_ptr<Botan::ML_KEM_PrivateKey> key_;
  std::unique_ptr<Botan::PK_KEM_Decryptor> decryptor_;
  Rng rng_;
  Sizes sizes_;
};

class BotanKem final : public Kem {
 public:
  BotanKem(std::string_view name, Rng rng)
      : mode_(name), rng_(std::move(rng)), sizes_(sizes_of(name)) {}

  Result<std::unique_ptr<KemKeyPair>> generate() override {
    return attempt("key generation",
                   [&] { return wrap(std::make_unique<Botan::ML_KEM_PrivateKey>(*rng_, mode_)); });
  }

  Result<std::unique_ptr<KemPublicKey>> parse_public(Bytes encoded) override {
    return attempt("public key", [&]() -> std::unique_ptr<KemPublicKey> {
      Botan::ML_KEM_PublicKey key(encoded, mode_);
      return std::make_unique<PublicKey>(key, rng_, sizes_);
    });
  }

  Sizes sizes() const override { return sizes_; }

  Result<std::unique_ptr<KemKeyPair>> from_seed(Bytes seed) override { return import(seed); }
  Result<std::unique_ptr<KemKeyPair>> from_private(Bytes encoded) override {
    return import(encoded);
  }

 private:
  // Botan tells a seed from an expanded key by its length.
  Result<std::unique_ptr<KemKeyPair>> import(Bytes encoded) const {
    return attempt("private key", [&] {
      return wrap(std::make_unique<Botan::ML_KEM_PrivateKey>(encoded, mode_));
    });
  }
  std::unique_ptr<KemKeyPair> wrap(std::unique_ptr<Botan::ML_KEM_PrivateKey> key) const {
    return std::make_unique<KeyPair>(std::move(key), rng_, sizes_);
  }

  Botan::ML_KEM_Mode mode_;
  Rng rng_;
  Sizes sizes_;
};

}  // namespace

std::unique_ptr<Kem> make_kem(std::string_view algorithm, const Rng& rng) {
  if (!algorithm.starts_with("ML-KEM-") || !find_algorithm(algorithm)) return nullptr;
  return std::make_unique<BotanKem>(algorithm, rng);
}

}  // namespace pqedge::measure::botan
