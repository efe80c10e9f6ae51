#include <openssl/core_names.h>
#include <openssl/params.h>
#include <openssl/provider.h>

#include <array>

#include "base/text.h"
#include "crypto/fast_provider.h"
#include "crypto/fast_provider_check.h"

namespace pqedge::crypto::fast_check {

Octets octets_of(std::string_view hex) {
  const std::string text = from_hex(hex).value_or(std::string());
  return {text.begin(), text.end()};
}

bool has_sha256(const Octets& bytes, std::string_view hex) {
  std::array<uint8_t, 32> digest{};
  unsigned size = 0;
  return EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr) == 1 &&
         to_hex(digest) == hex;
}

KeyPtr import_key(const char* name, const char* properties, const char* part, Octets bytes) {
  const ContextPtr context(EVP_PKEY_CTX_new_from_name(nullptr, name, properties));
  EVP_PKEY* key = nullptr;
  OSSL_PARAM params[] = {OSSL_PARAM_construct_octet_string(part, bytes.data(), bytes.size()),
                         OSSL_PARAM_construct_end()};
  const int selection =
      std::string_view(part) == OSSL_PKEY_PARAM_PUB_KEY ? EVP_PKEY_PUBLIC_KEY : EVP_PKEY_KEYPAIR;
  if (context == nullptr || EVP_PKEY_fromdata_init(context.get()) != 1 ||
      EVP_PKEY_fromdata(context.get(), &key, selection, params) != 1) {
    return nullptr;
  }
  return KeyPtr(key);
}

Octets part_of(const KeyPtr& key, const char* part) {
  size_t size = 0;
  if (key == nullptr || EVP_PKEY_get_octet_string_param(key.get(), part, nullptr, 0, &size) != 1) {
    return {};
  }
  Octets out(size);
  if (EVP_PKEY_get_octet_string_param(key.get(), part, out.data(), size, &size) != 1) return {};
  return out;
}

bool is_fast(const OSSL_PROVIDER* provider) {
  return std::string_view(OSSL_PROVIDER_get0_name(provider)) == kFastProvider;
}

}  // namespace pqedge::crypto::fast_check
