#include "wire/quic/keys.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/rand.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

namespace pqedge::quic {
namespace {

constexpr size_t kSecretSize = 32;
constexpr std::string_view kSalt = "pqedge quic keys v1";

// HKDF-SHA-256 (RFC 5869); each key has its own info string.
bool derive(Bytes secret, std::string_view info, MutableBytes out) {
  std::unique_ptr<EVP_KDF, decltype(&EVP_KDF_free)> kdf(EVP_KDF_fetch(nullptr, "HKDF", nullptr),
                                                        EVP_KDF_free);
  if (kdf == nullptr) return false;
  std::unique_ptr<EVP_KDF_CTX, decltype(&EVP_KDF_CTX_free)> ctx(EVP_KDF_CTX_new(kdf.get()),
                                                                EVP_KDF_CTX_free);
  if (ctx == nullptr) return false;
  char digest[] = "SHA256";
  const OSSL_PARAM params[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, const_cast<uint8_t*>(secret.data()),
                                        secret.size()),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, const_cast<char*>(kSalt.data()),
                                        kSalt.size()),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, const_cast<char*>(info.data()),
                                        info.size()),
      OSSL_PARAM_construct_end(),
  };
  return EVP_KDF_derive(ctx.get(), out.data(), out.size(), params) == 1;
}

// One AES-128 block. The context is the thread's own; its cipher is fetched once. Out of memory is
// the only way to fail, and there is no safe value to go on with then.
void aes_block(const std::array<uint8_t, 16>& key, bool encrypt, const uint8_t in[16],
               uint8_t out[16]) {
  static EVP_CIPHER* const cipher = EVP_CIPHER_fetch(nullptr, "AES-128-ECB", nullptr);
  thread_local const std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)> ctx(
      EVP_CIPHER_CTX_new(), EVP_CIPHER_CTX_free);
  int n = 0;
  if (cipher == nullptr || ctx == nullptr ||
      EVP_CipherInit_ex2(ctx.get(), cipher, key.data(), nullptr, encrypt ? 1 : 0, nullptr) != 1 ||
      EVP_CIPHER_CTX_set_padding(ctx.get(), 0) != 1 ||
      EVP_CipherUpdate(ctx.get(), out, &n, in, 16) != 1 || n != 16) {
    std::abort();
  }
}

}  // namespace

Result<Keys> Keys::generate() {
  uint8_t secret[kSecretSize];
  if (RAND_priv_bytes(secret, sizeof secret) != 1) {
    return fail("cannot make the QUIC keys: the random generator of OpenSSL failed");
  }
  Result<Keys> keys = from_secret(secret);
  OPENSSL_cleanse(secret, sizeof secret);
  return keys;
}

Result<Keys> Keys::from_secret(Bytes secret) {
  if (secret.size() != kSecretSize) {
    return fail("the QUIC secret has {} bytes: it must have {}", secret.size(), kSecretSize);
  }
  Keys keys;
  if (!derive(secret, "connection id", keys.id_key_) ||
      !derive(secret, "stateless reset", keys.reset_secret_) ||
      !derive(secret, "token", keys.token_secret_)) {
    return fail("cannot derive the QUIC keys: HKDF of OpenSSL failed");
  }
  return keys;
}

ConnectionId Keys::make_id(const Owner& owner, uint32_t server_id) const {
  uint8_t plain[kConnectionIdSize];
  store_be16(plain, owner.generation);
  store_be16(plain + 2, owner.worker);
  store_be32(plain + 4, server_id);
  if (RAND_bytes(plain + 8, 8) != 1) std::abort();
  ConnectionId id;
  aes_block(id_key_, true, plain, id.data());
  return id;
}

std::optional<Owner> Keys::owner_of(Bytes id, uint32_t server_id) const {
  if (id.size() != kConnectionIdSize) return std::nullopt;
  uint8_t plain[kConnectionIdSize];
  aes_block(id_key_, false, id.data(), plain);
  if (load_be32(plain + 4) != server_id) return std::nullopt;
  return Owner{.generation = load_be16(plain), .worker = load_be16(plain + 2)};
}

std::array<uint8_t, 16> Keys::reset_token(Bytes id) const {
  uint8_t mac[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  if (HMAC(EVP_sha256(), reset_secret_.data(), static_cast<int>(reset_secret_.size()), id.data(),
           id.size(), mac, &size) == nullptr) {
    std::abort();
  }
  std::array<uint8_t, 16> token;
  std::memcpy(token.data(), mac, token.size());
  return token;
}

}  // namespace pqedge::quic
