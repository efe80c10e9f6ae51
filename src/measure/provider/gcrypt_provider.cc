// libgcrypt: its AEADs, and what it says of itself.
#include <gcrypt.h>

#include <format>
#include <mutex>

#include "measure/provider/catalogue.h"
#include "measure/provider/gcrypt.h"
#include "measure/provider/libraries.h"
#include "measure/provider/record_nonce.h"

namespace pqedge::measure {

namespace libgcrypt {

namespace {

using Buffer = std::vector<uint8_t>;

struct CipherId {
  const char* name;
  int cipher;
  int mode;
};

constexpr CipherId kCiphers[] = {
    {"AES-128-GCM", GCRY_CIPHER_AES128, GCRY_CIPHER_MODE_GCM},
    {"AES-256-GCM", GCRY_CIPHER_AES256, GCRY_CIPHER_MODE_GCM},
    {"ChaCha20-Poly1305", GCRY_CIPHER_CHACHA20, GCRY_CIPHER_MODE_POLY1305},
};

const CipherId* find(std::string_view name) {
  for (const auto& id : kCiphers) {
    if (name == id.name) return &id;
  }
  return nullptr;
}

class Cipher {
 public:
  Cipher(const CipherId& id, Bytes key) {
    if (gcry_cipher_open(&handle_, id.cipher, id.mode, 0) != 0 ||
        gcry_cipher_setkey(handle_, key.data(), key.size()) != 0) {
      gcry_cipher_close(handle_);
      handle_ = nullptr;
    }
  }
  ~Cipher() { gcry_cipher_close(handle_); }
  Cipher(const Cipher&) = delete;
  Cipher& operator=(const Cipher&) = delete;
  gcry_cipher_hd_t get() const { return handle_; }

 private:
  gcry_cipher_hd_t handle_ = nullptr;
};

class GcryptAead final : public Aead {
 public:
  GcryptAead(const CipherId& id, Bytes key, Bytes iv)
      : sealer_(id, key), opener_(id, key), nonce_(iv) {}
  bool ready() const { return sealer_.get() && opener_.get(); }

  Result<void> seal(Bytes plaintext, Bytes associated, Buffer& out) override {
    out.resize(plaintext.size() + kTagLength);
    if (auto begun = begin(sealer_.get(), nonce_.next(), associated); !begun) return begun;
    auto error = gcry_cipher_final(sealer_.get());
    if (error == 0) {
      error = gcry_cipher_encrypt(sealer_.get(), out.data(), plaintext.size(), plaintext.data(),
                                  plaintext.size());
    }
    if (error == 0) {
      error = gcry_cipher_gettag(sealer_.get(), out.data() + plaintext.size(), kTagLength);
    }
    return check(error, "encryption");
  }

  Result<void> open(Bytes sealed, Bytes associated, Buffer& out) override {
    if (sealed.size() < kTagLength) return fail("a sealed text has at least {} bytes", kTagLength);
    size_t length = sealed.size() - kTagLength;
    out.resize(length);
    if (auto begun = begin(opener_.get(), nonce_.current(), associated); !begun) return begun;
    auto error = gcry_cipher_final(opener_.get());
    if (error == 0) {
      error = gcry_cipher_decrypt(opener_.get(), out.data(), length, sealed.data(), length);
    }
    if (error == 0) error = gcry_cipher_checktag(opener_.get(), sealed.data() + length, kTagLength);
    return check(error, "decryption");
  }

 private:
  static Result<void> begin(gcry_cipher_hd_t handle, const std::array<uint8_t, kNonceLength>& nonce,
                            Bytes associated) {
    auto error = gcry_cipher_setiv(handle, nonce.data(), nonce.size());
    if (error == 0) error = gcry_cipher_authenticate(handle, associated.data(), associated.size());
    return check(error, "start of a record");
  }

  Cipher sealer_;
  Cipher opener_;
  RecordNonce nonce_;
};

// "hwflist:intel-avx2:intel-vaes-vpclmul:...": what libgcrypt found, and may use.
std::string hardware_features() {
  char* text = gcry_get_config(0, "hwflist");
  std::string copy = text ? text : "";
  gcry_free(text);
  while (!copy.empty() && (copy.back() == '\n' || copy.back() == ':')) copy.pop_back();
  return copy;
}

class Libgcrypt final : public Provider {
 public:
  ProviderFacts facts() const override { return {"libgcrypt", gcry_check_version(nullptr)}; }

  std::vector<Algorithm> algorithms() const override {
    std::vector<Algorithm> all;
    for (auto name : kem_names()) all.push_back(algorithm_of(name));
    for (const auto& id : kCiphers) all.push_back(algorithm_of(id.name));
    return all;
  }

  Implementation implementation(std::string_view algorithm) const override {
    auto features = hardware_features();
    Implementation implementation{.evidence = "gcry_get_config: " + features,
                                  .keys = "bytes, taken apart in each operation"};
    if (algorithm.starts_with("ML-KEM-")) {
      // cipher/kyber*.c; SHA-3 is cipher/keccak.c, which has variants by these features.
      implementation.code = features.contains("intel-avx512") ? "portable C, Keccak with AVX-512"
                            : features.contains("intel-bmi2") ? "portable C, Keccak with BMI2"
                                                              : "portable C";
    } else if (algorithm == "sntrup761") {
      implementation.code = "portable C";
    } else if (find(algorithm)) {
      implementation.keys = "keyed once";
      implementation.code = cipher_code(algorithm, features);
    }
    return implementation;
  }

  std::unique_ptr<Kem> kem(std::string_view algorithm) override { return make_kem(algorithm); }
  std::unique_ptr<KeyAgreement> key_agreement(std::string_view algorithm) override {
    return make_agreement(algorithm);
  }
  std::unique_ptr<Signature> signature(std::string_view) override { return nullptr; }
  std::unique_ptr<Aead> aead(std::string_view algorithm) override {
    if (!find(algorithm)) return nullptr;
    return aead_with(algorithm, random_bytes(sizes_of(algorithm).private_key),
                     random_bytes(kNonceLength));
  }
  std::unique_ptr<Aead> aead_with(std::string_view algorithm, Bytes key, Bytes iv) override {
    const auto* id = find(algorithm);
    if (!id || iv.size() != kNonceLength) return nullptr;
    auto made = std::make_unique<GcryptAead>(*id, key, iv);
    return made->ready() ? std::move(made) : nullptr;
  }

 private:
  static std::string cipher_code(std::string_view algorithm, std::string_view features) {
    bool avx512 = features.contains("intel-avx512");
    if (algorithm == "ChaCha20-Poly1305") {
      return avx512 ? "AVX-512" : features.contains("intel-avx2") ? "AVX2" : "unknown";
    }
    if (features.contains("intel-vaes-vpclmul"))
      return avx512 ? "VAES and AVX-512" : "VAES and AVX2";
    return features.contains("intel-aesni") ? "AES-NI and PCLMULQDQ" : "unknown";
  }
};

}  // namespace

}  // namespace libgcrypt

Result<std::unique_ptr<Provider>> make_libgcrypt() {
  static std::once_flag once;
  std::call_once(once, [] {
    gcry_check_version(nullptr);
    // No locked pages: keys here live for a measurement, and the pool is small.
    gcry_control(GCRYCTL_DISABLE_SECMEM, 0);
    gcry_control(GCRYCTL_INITIALIZATION_FINISHED, 0);
  });
  if (!gcry_check_version("1.11.0")) {
    return fail("libgcrypt {} has no KEM interface: 1.11 or newer is needed",
                gcry_check_version(nullptr));
  }
  return std::make_unique<libgcrypt::Libgcrypt>();
}

}  // namespace pqedge::measure
