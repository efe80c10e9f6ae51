// wolfSSL: its AEADs, and what it says of itself. Debian's build has none of its post-quantum code.
#include <wolfssl/options.h>

#include <wolfssl/version.h>
#include <wolfssl/wolfcrypt/aes.h>
#include <wolfssl/wolfcrypt/chacha20_poly1305.h>
#include <wolfssl/wolfcrypt/error-crypt.h>
#include <wolfssl/wolfcrypt/wc_port.h>

#include <format>

#include "measure/provider/catalogue.h"
#include "measure/provider/libraries.h"
#include "measure/provider/record_nonce.h"
#include "measure/provider/wolfssl.h"
#include "measure/provider/wolfssl_handles.h"

namespace pqedge::measure {

namespace wolf {

namespace {

using Buffer = std::vector<uint8_t>;

int init_aes(Aes* aes) { return wc_AesInit(aes, nullptr, INVALID_DEVID); }

class AesGcm final : public Aead {
 public:
  AesGcm(Bytes key, Bytes iv) : nonce_(iv) {
    ready_ = wc_AesGcmSetKey(aes_.get(), key.data(), length_of(key.size())) == 0;
  }
  bool ready() const { return ready_; }

  Result<void> seal(Bytes plaintext, Bytes associated, Buffer& out) override {
    out.resize(plaintext.size() + kTagLength);
    const auto& nonce = nonce_.next();
    return check(
        wc_AesGcmEncrypt(aes_.get(), out.data(), plaintext.data(), length_of(plaintext.size()),
                         nonce.data(), kNonceLength, out.data() + plaintext.size(), kTagLength,
                         associated.data(), length_of(associated.size())),
        "encryption");
  }
  Result<void> open(Bytes sealed, Bytes associated, Buffer& out) override {
    if (sealed.size() < kTagLength) return fail("a sealed text has at least {} bytes", kTagLength);
    size_t length = sealed.size() - kTagLength;
    out.resize(length);
    const auto& nonce = nonce_.current();
    return check(wc_AesGcmDecrypt(aes_.get(), out.data(), sealed.data(), length_of(length),
                                  nonce.data(), kNonceLength, sealed.data() + length, kTagLength,
                                  associated.data(), length_of(associated.size())),
                 "decryption");
  }

 private:
  Owned<Aes, init_aes, wc_AesFree> aes_;
  RecordNonce nonce_;
  bool ready_ = false;
};

class ChaCha final : public Aead {
 public:
  ChaCha(Bytes key, Bytes iv) : key_(key.begin(), key.end()), nonce_(iv) {}

  Result<void> seal(Bytes plaintext, Bytes associated, Buffer& out) override {
    out.resize(plaintext.size() + kTagLength);
    return check(wc_ChaCha20Poly1305_Encrypt(key_.data(), nonce_.next().data(), associated.data(),
                                             length_of(associated.size()), plaintext.data(),
                                             length_of(plaintext.size()), out.data(),
                                             out.data() + plaintext.size()),
                 "encryption");
  }
  Result<void> open(Bytes sealed, Bytes associated, Buffer& out) override {
    if (sealed.size() < kTagLength) return fail("a sealed text has at least {} bytes", kTagLength);
    size_t length = sealed.size() - kTagLength;
    out.resize(length);
    return check(
        wc_ChaCha20Poly1305_Decrypt(key_.data(), nonce_.current().data(), associated.data(),
                                    length_of(associated.size()), sealed.data(), length_of(length),
                                    sealed.data() + length, out.data()),
        "decryption");
  }

 private:
  Buffer key_;
  RecordNonce nonce_;
};

class Wolfssl final : public Provider {
 public:
  Wolfssl() { wolfCrypt_Init(); }
  ~Wolfssl() override { wolfCrypt_Cleanup(); }

  ProviderFacts facts() const override { return {"wolfSSL", LIBWOLFSSL_VERSION_STRING}; }

  std::vector<Algorithm> algorithms() const override {
    std::vector<Algorithm> all;
    for (const auto& entry : catalogue()) {
      if (make_agreement(entry.name) || make_signature(entry.name) || entry.kind == Kind::aead) {
        all.push_back(algorithm_of(entry.name));
      }
    }
    return all;
  }

  Implementation implementation(std::string_view algorithm) const override;

  std::unique_ptr<Kem> kem(std::string_view) override { return nullptr; }
  std::unique_ptr<KeyAgreement> key_agreement(std::string_view algorithm) override {
    return make_agreement(algorithm);
  }
  std::unique_ptr<Signature> signature(std::string_view algorithm) override {
    return make_signature(algorithm);
  }
  std::unique_ptr<Aead> aead(std::string_view algorithm) override {
    const auto* entry = find_algorithm(algorithm);
    if (!entry || entry->kind != Kind::aead) return nullptr;
    return make_aead(algorithm, random_bytes(entry->sizes.private_key), random_bytes(kNonceLength));
  }
  std::unique_ptr<Aead> aead_with(std::string_view algorithm, Bytes key, Bytes iv) override {
    return make_aead(algorithm, key, iv);
  }
};

// options.h publishes how the library was built.
Implementation Wolfssl::implementation(std::string_view algorithm) const {
  Implementation implementation{.evidence = "wolfssl/options.h " LIBWOLFSSL_VERSION_STRING
                                            ": neither WOLFSSL_AESNI nor USE_INTEL_SPEEDUP",
                                .keys = algorithm == "ChaCha20-Poly1305"
                                            ? "keyed anew for each record"
                                        : algorithm.ends_with("-GCM") ? "keyed once"
                                                                      : "parsed"};
#if defined(WOLFSSL_AESNI) || defined(USE_INTEL_SPEEDUP)
  implementation.evidence = "wolfssl/options.h " LIBWOLFSSL_VERSION_STRING
                            ": built with assembly; what runs is not published";
#else
  implementation.code = "portable C";
#if defined(WOLFSSL_SP_X86_64)
  if (algorithm.starts_with("P-") || algorithm.starts_with("ECDSA-")) {
    implementation.code = "portable C, multiplication in inline x86-64 assembly";
    implementation.evidence += ", but WOLFSSL_SP_X86_64";
  }
#endif
#endif
  return implementation;
}

}  // namespace

Result<void> check(int code, std::string_view what) {
  if (code != 0) return fail("wolfSSL: {}: {}", what, wc_GetErrorString(code));
  return {};
}

std::unique_ptr<Aead> make_aead(std::string_view algorithm, Bytes key, Bytes iv) {
  if (iv.size() != kNonceLength) return nullptr;
  if (algorithm == "ChaCha20-Poly1305") {
    if (key.size() != CHACHA20_POLY1305_AEAD_KEYSIZE) return nullptr;
    return std::make_unique<ChaCha>(key, iv);
  }
  auto made = std::make_unique<AesGcm>(key, iv);
  return made->ready() ? std::move(made) : nullptr;
}

}  // namespace wolf

Result<std::unique_ptr<Provider>> make_wolfssl() { return std::make_unique<wolf::Wolfssl>(); }

}  // namespace pqedge::measure
