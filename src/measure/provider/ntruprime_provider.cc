// libntruprime's sntrup761: the second implementation of it beside libgcrypt's, with vector code.
#include <ntruprime.h>

#include <format>

#include "measure/provider/catalogue.h"
#include "measure/provider/libraries.h"

namespace pqedge::measure {

namespace ntruprime {

namespace {

using Buffer = std::vector<uint8_t>;

constexpr std::string_view kName = "sntrup761";

class Key final : public KemPublicKey {
 public:
  explicit Key(Bytes key) : key_(key.begin(), key.end()) {}
  Result<void> encapsulate(Buffer& ciphertext, Buffer& secret) override {
    ciphertext.resize(sntrup761_CIPHERTEXTBYTES);
    secret.resize(sntrup761_BYTES);
    sntrup761_enc(ciphertext.data(), secret.data(), key_.data());
    return {};
  }

 private:
  Buffer key_;
};

class Pair final : public KemKeyPair {
 public:
  Pair(Buffer public_key, Buffer private_key)
      : public_(std::move(public_key)), private_(std::move(private_key)) {}
  Result<Buffer> public_key() const override {
    if (public_.empty()) return fail("only the private key is known");
    return public_;
  }
  Result<void> decapsulate(Bytes ciphertext, Buffer& secret) override {
    if (ciphertext.size() != sntrup761_CIPHERTEXTBYTES) return fail("not a ciphertext's length");
    secret.resize(sntrup761_BYTES);
    sntrup761_dec(secret.data(), ciphertext.data(), private_.data());
    return {};
  }

 private:
  Buffer public_;
  Buffer private_;
};

class Sntrup761 final : public Kem {
 public:
  Result<std::unique_ptr<KemKeyPair>> generate() override {
    Buffer public_key(sntrup761_PUBLICKEYBYTES), private_key(sntrup761_SECRETKEYBYTES);
    sntrup761_keypair(public_key.data(), private_key.data());
    return std::make_unique<Pair>(std::move(public_key), std::move(private_key));
  }
  Result<std::unique_ptr<KemPublicKey>> parse_public(Bytes encoded) override {
    if (encoded.size() != sntrup761_PUBLICKEYBYTES) return fail("not a public key's length");
    return std::make_unique<Key>(encoded);
  }
  Sizes sizes() const override { return sizes_of(kName); }
  Result<std::unique_ptr<KemKeyPair>> from_seed(Bytes) override {
    return not_offered("libntruprime takes no seed");
  }
  Result<std::unique_ptr<KemKeyPair>> from_private(Bytes encoded) override {
    if (encoded.size() != sntrup761_SECRETKEYBYTES) return fail("not a private key's length");
    return std::make_unique<Pair>(Buffer{}, Buffer(encoded.begin(), encoded.end()));
  }
};

class Libntruprime final : public Provider {
 public:
  ProviderFacts facts() const override { return {"libntruprime", ntruprime_version}; }
  std::vector<Algorithm> algorithms() const override { return {algorithm_of(kName)}; }
  // The library says which of its implementations it chose for this CPU, part by part.
  Implementation implementation(std::string_view) const override {
    std::string multiplication = ntruprime_core_multsntrup761_implementation();
    return {.code = multiplication.contains("avx") ? "AVX2 (multiplication)" : "portable C",
            .evidence = std::format("libntruprime: kem {}, multiplication {}",
                                    ntruprime_kem_sntrup761_implementation(), multiplication),
            .keys = "bytes, taken apart in each operation"};
  }
  std::unique_ptr<Kem> kem(std::string_view algorithm) override {
    return algorithm == kName ? std::make_unique<Sntrup761>() : nullptr;
  }
  std::unique_ptr<KeyAgreement> key_agreement(std::string_view) override { return nullptr; }
  std::unique_ptr<Signature> signature(std::string_view) override { return nullptr; }
  std::unique_ptr<Aead> aead(std::string_view) override { return nullptr; }
};

}  // namespace

}  // namespace ntruprime

Result<std::unique_ptr<Provider>> make_libntruprime() {
  return std::make_unique<ntruprime::Libntruprime>();
}

}  // namespace pqedge::measure
