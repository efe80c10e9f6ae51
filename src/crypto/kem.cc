#include "crypto/kem.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/kdf.h>
#include <openssl/params.h>

#include "crypto/handles.h"

namespace pqedge::crypto {
namespace {

constexpr const char* kKemName = "ML-KEM-1024";

using KeyContextPtr = std::unique_ptr<EVP_PKEY_CTX, FreeWith<EVP_PKEY_CTX_free>>;
using KdfPtr = std::unique_ptr<EVP_KDF, FreeWith<EVP_KDF_free>>;
using KdfContextPtr = std::unique_ptr<EVP_KDF_CTX, FreeWith<EVP_KDF_CTX_free>>;
using KemCipherPtr = std::unique_ptr<EVP_CIPHER_CTX, FreeWith<EVP_CIPHER_CTX_free>>;

KemKey own(EVP_PKEY* key) {
  return key == nullptr ? nullptr : KemKey(key, [](EVP_PKEY* k) { EVP_PKEY_free(k); });
}

KeyContextPtr context_for(EVP_PKEY* key) {
  return KeyContextPtr(EVP_PKEY_CTX_new_from_pkey(nullptr, key, nullptr));
}

const EVP_CIPHER* kem_gcm() {
  static const CipherPtr cipher(EVP_CIPHER_fetch(nullptr, "AES-256-GCM", nullptr));
  return cipher.get();
}

// The header first, then the text; OpenSSL counts in int.
bool run(EVP_CIPHER_CTX* context, Bytes header, Bytes text, uint8_t* out) {
  int n = 0;
  return (header.empty() || EVP_CipherUpdate(context, nullptr, &n, header.data(),
                                             static_cast<int>(header.size())) == 1) &&
         (text.empty() ||
          EVP_CipherUpdate(context, out, &n, text.data(), static_cast<int>(text.size())) == 1);
}

}  // namespace

bool is_kem_key(const EVP_PKEY* key) { return EVP_PKEY_is_a(key, kKemName) == 1; }

KemKey kem_from_seed(const KemSeed& seed) {
  const KeyContextPtr context(EVP_PKEY_CTX_new_from_name(nullptr, kKemName, nullptr));
  OSSL_PARAM params[] = {
      OSSL_PARAM_construct_octet_string(OSSL_PKEY_PARAM_ML_KEM_SEED,
                                        const_cast<uint8_t*>(seed.data()), seed.size()),
      OSSL_PARAM_construct_end(),
  };
  EVP_PKEY* key = nullptr;
  if (context == nullptr || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &key, EVP_PKEY_KEYPAIR, params) != 1) {
    return nullptr;
  }
  return own(key);
}

KemKey kem_from_public(const KemPublicKey& bytes) {
  return own(
      EVP_PKEY_new_raw_public_key_ex(nullptr, kKemName, nullptr, bytes.data(), bytes.size()));
}

KemKey kem_generate() { return own(EVP_PKEY_Q_keygen(nullptr, nullptr, kKemName)); }

bool kem_public_bytes(const EVP_PKEY* key, KemPublicKey& out) {
  size_t size = 0;
  return EVP_PKEY_get_octet_string_param(key, OSSL_PKEY_PARAM_PUB_KEY, out.data(), out.size(),
                                         &size) == 1 &&
         size == out.size();
}

bool kem_encapsulate(EVP_PKEY* key, uint8_t* ciphertext, KemSecret& secret) {
  const KeyContextPtr context = context_for(key);
  size_t ciphertext_size = kKemCiphertextSize;
  size_t secret_size = secret.size();
  return context != nullptr && EVP_PKEY_encapsulate_init(context.get(), nullptr) == 1 &&
         EVP_PKEY_encapsulate(context.get(), ciphertext, &ciphertext_size, secret.data(),
                              &secret_size) == 1 &&
         ciphertext_size == kKemCiphertextSize && secret_size == secret.size();
}

bool kem_decapsulate(EVP_PKEY* key, const uint8_t* ciphertext, KemSecret& secret) {
  const KeyContextPtr context = context_for(key);
  size_t size = secret.size();
  return context != nullptr && EVP_PKEY_decapsulate_init(context.get(), nullptr) == 1 &&
         EVP_PKEY_decapsulate(context.get(), secret.data(), &size, ciphertext,
                              kKemCiphertextSize) == 1 &&
         size == secret.size();
}

bool derive_key(Bytes secret, Bytes salt, std::string_view info, MutableBytes out) {
  static const KdfPtr hkdf(EVP_KDF_fetch(nullptr, "HKDF", nullptr));
  const KdfContextPtr context(hkdf == nullptr ? nullptr : EVP_KDF_CTX_new(hkdf.get()));
  if (context == nullptr) return false;
  char digest[] = "SHA512";
  OSSL_PARAM params[5];
  OSSL_PARAM* p = params;
  *p++ = OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0);
  *p++ = OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, const_cast<uint8_t*>(secret.data()),
                                           secret.size());
  if (!salt.empty()) {
    *p++ = OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, const_cast<uint8_t*>(salt.data()),
                                             salt.size());
  }
  *p++ = OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, const_cast<char*>(info.data()),
                                           info.size());
  *p = OSSL_PARAM_construct_end();
  return EVP_KDF_derive(context.get(), out.data(), out.size(), params) == 1;
}

bool gcm_seal(const uint8_t key[32], const uint8_t nonce[12], Bytes header, Bytes text,
              uint8_t* out) {
  const KemCipherPtr context(EVP_CIPHER_CTX_new());
  uint8_t nothing[kGcmTagSize];
  int n = 0;
  return context != nullptr &&
         EVP_CipherInit_ex2(context.get(), kem_gcm(), key, nonce, 1, nullptr) == 1 &&
         run(context.get(), header, text, out) &&
         EVP_CipherFinal_ex(context.get(), nothing, &n) == 1 &&
         EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_GET_TAG, kGcmTagSize,
                             out + text.size()) == 1;
}

bool gcm_open(const uint8_t key[32], const uint8_t nonce[12], Bytes header, Bytes sealed,
              uint8_t* out) {
  if (sealed.size() < kGcmTagSize) return false;
  const Bytes text = sealed.first(sealed.size() - kGcmTagSize);
  const Bytes tag = sealed.last(kGcmTagSize);
  const KemCipherPtr context(EVP_CIPHER_CTX_new());
  uint8_t nothing[kGcmTagSize];
  int n = 0;
  const bool good = context != nullptr &&
                    EVP_CipherInit_ex2(context.get(), kem_gcm(), key, nonce, 0, nullptr) == 1 &&
                    EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_SET_TAG, kGcmTagSize,
                                        const_cast<uint8_t*>(tag.data())) == 1 &&
                    run(context.get(), header, text, out) &&
                    EVP_CipherFinal_ex(context.get(), nothing, &n) == 1;
  if (!good && !text.empty()) OPENSSL_cleanse(out, text.size());
  return good;
}

}  // namespace pqedge::crypto
