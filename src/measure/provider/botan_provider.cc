#include <botan/aead.h>
#include <botan/auto_rng.h>
#include <botan/version.h>

#include <format>

#include "measure/provider/botan.h"
#include "measure/provider/catalogue.h"
#include "measure/provider/cpu.h"
#include "measure/provider/libraries.h"
#include "measure/provider/record_nonce.h"

namespace pqedge::measure {

namespace botan {

namespace {

class BotanAead final : public Aead {
 public:
  BotanAead(std::string_view name, Bytes key, Bytes iv)
      : sealer_(Botan::AEAD_Mode::create_or_throw(name, Botan::Cipher_Dir::Encryption)),
        opener_(Botan::AEAD_Mode::create_or_throw(name, Botan::Cipher_Dir::Decryption)),
        nonce_(iv) {
    sealer_->set_key(key);
    opener_->set_key(key);
  }

  Result<void> seal(Bytes plaintext, Bytes associated, std::vector<uint8_t>& out) override {
    return attempt("encryption", [&] {
      work_.assign(plaintext.begin(), plaintext.end());
      run(*sealer_, associated, nonce_.next());
      out.assign(work_.begin(), work_.end());
    });
  }
  Result<void> open(Bytes sealed, Bytes associated, std::vector<uint8_t>& out) override {
    return attempt("decryption", [&] {
      work_.assign(sealed.begin(), sealed.end());
      run(*opener_, associated, nonce_.current());
      out.assign(work_.begin(), work_.end());
    });
  }

 private:
  void run(Botan::AEAD_Mode& mode, Bytes associated,
           const std::array<uint8_t, kNonceLength>& nonce) {
    mode.set_associated_data(associated);
    mode.start(nonce.data(), nonce.size());
    mode.finish(work_);
  }

  std::unique_ptr<Botan::AEAD_Mode> sealer_;
  std::unique_ptr<Botan::AEAD_Mode> opener_;
  Botan::secure_vector<uint8_t> work_;  // Botan works in place
  RecordNonce nonce_;
};

class BotanProvider final : public Provider {
 public:
  ProviderFacts facts() const override { return {"Botan", Botan::short_version_string()}; }

  std::vector<Algorithm> algorithms() const override {
    std::vector<Algorithm> all;
    for (const auto& entry : catalogue()) {
      if (make_kem(entry.name, rng_) || make_agreement(entry.name, rng_) ||
          make_signature(entry.name, rng_) || entry.kind == Kind::aead) {
        all.push_back(algorithm_of(entry.name));
      }
    }
    return all;
  }

  Implementation implementation(std::string_view algorithm) const override {
    return implementation_of(algorithm);
  }
  std::unique_ptr<Kem> kem(std::string_view algorithm) override {
    return make_kem(algorithm, rng_);
  }
  std::unique_ptr<KeyAgreement> key_agreement(std::string_view algorithm) override {
    return make_agreement(algorithm, rng_);
  }
  std::unique_ptr<Signature> signature(std::string_view algorithm) override {
    return make_signature(algorithm, rng_);
  }
  std::unique_ptr<Aead> aead(std::string_view algorithm) override {
    const auto* entry = find_algorithm(algorithm);
    if (!entry || entry->kind != Kind::aead) return nullptr;
    return make_aead(algorithm, random_bytes(entry->sizes.private_key), random_bytes(kNonceLength));
  }
  std::unique_ptr<Aead> aead_with(std::string_view algorithm, Bytes key, Bytes iv) override {
    return make_aead(algorithm, key, iv);
  }

 private:
  Rng rng_ = std::make_shared<Botan::AutoSeeded_RNG>();
};

std::string_view mode_name(std::string_view algorithm) {
  if (algorithm == "AES-128-GCM") return "AES-128/GCM";
  if (algorithm == "AES-256-GCM") return "AES-256/GCM";
  return "ChaCha20Poly1305";
}

// Botan publishes what its build has (build.h) and takes the best of it that the CPU has.
std::string keccak() {
#if defined(BOTAN_HAS_KECCAK_PERM_AVX512)
  if (cpu::avx512()) return "AVX-512";
#endif
#if defined(BOTAN_HAS_KECCAK_PERM_BMI2)
  if (cpu::bmi2()) return "BMI2";
#endif
  return "portable C++";
}

std::string sha2() {
#if defined(BOTAN_HAS_SHA2_32_X86)
  if (cpu::sha()) return "the SHA extensions";
#endif
#if defined(BOTAN_HAS_SHA2_32_X86_AVX2)
  if (cpu::avx2()) return "AVX2";
#endif
  return "portable C++";
}

std::string gcm() {
#if defined(BOTAN_HAS_AES_VAES) && defined(BOTAN_HAS_GHASH_AVX512_CLMUL)
  if (cpu::vaes() && cpu::avx512()) return "VAES, GHASH with AVX-512";
#endif
#if defined(BOTAN_HAS_AES_NI) && defined(BOTAN_HAS_GHASH_CLMUL_CPU)
  if (cpu::aes()) return "AES-NI, GHASH with PCLMULQDQ";
#endif
  return "unknown";
}

std::string chacha() {
#if defined(BOTAN_HAS_CHACHA_AVX512) && defined(BOTAN_HAS_POLY1305_AVX512)
  if (cpu::avx512()) return "ChaCha20 and Poly1305 with AVX-512";
#endif
#if defined(BOTAN_HAS_CHACHA_AVX2)
  if (cpu::avx2()) return "ChaCha20 with AVX2";
#endif
  return "unknown";
}

std::string code_of(std::string_view name) {
  if (name.starts_with("ML-")) return "portable C++, Keccak: " + keccak();
  if (name.starts_with("SLH-DSA-SHAKE")) return "portable C++, Keccak: " + keccak();
  if (name.starts_with("SLH-DSA-SHA2") || name.starts_with("LMS-") || name.starts_with("XMSS-")) {
    return "portable C++, SHA-256: " + sha2();
  }
  if (name.ends_with("-GCM")) return gcm();
  if (name == "ChaCha20-Poly1305") return chacha();
  return "portable C++";  // Botan has no vector code for its curves and big numbers
}

}  // namespace

std::unique_ptr<Aead> make_aead(std::string_view algorithm, Bytes key, Bytes iv) {
  if (iv.size() != kNonceLength) return nullptr;
  auto made = attempt("cipher", [&]() -> std::unique_ptr<Aead> {
    return std::make_unique<BotanAead>(mode_name(algorithm), key, iv);
  });
  return made ? std::move(*made) : nullptr;
}

Implementation implementation_of(std::string_view algorithm) {
  return {
      .code = code_of(algorithm),
      .evidence = std::format("build.h of Botan {}: the modules of this build; the CPU has {}",
                              Botan::short_version_string(),
                              cpu::avx512() ? "AVX-512"
                              : cpu::avx2() ? "AVX2"
                                            : "neither AVX2 nor AVX-512"),
      .keys = algorithm.starts_with("ML-") ? "parsed; matrix expanded once for a key" : "parsed"};
}

}  // namespace botan

Result<std::unique_ptr<Provider>> make_botan() {
  return botan::attempt("start", []() -> std::unique_ptr<Provider> {
    return std::make_unique<botan::BotanProvider>();
  });
}

}  // namespace pqedge::measure
