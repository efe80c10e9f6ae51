// ML-KEM and X25519MLKEM768 as KEMs (provider-kem(7)).
#include <openssl/core_names.h>

#include <cstring>
#include <new>

#include "fastcrypto/key.h"
#include "fastcrypto/params.h"
#include "fastcrypto/tables.h"

namespace pqedge::fast {
namespace {

// OpenSSL keeps the key as long as the context.
struct Operation : FromCore {
  const Key* key = nullptr;
  bool has_random = false;  // known answers alone
  uint8_t random[kMlKemRandomSize];

  ~Operation() {
    if (has_random) wipe(random, sizeof random);
  }
};

Operation& self(void* context) { return *static_cast<Operation*>(context); }

void* make(void*) { return new (std::nothrow) Operation; }
void destroy(void* context) { delete static_cast<Operation*>(context); }
void* duplicate(void* context) { return new (std::nothrow) Operation(self(context)); }

int set_params(void* context, const OSSL_PARAM* params) {
  Operation& o = self(context);
  const OSSL_PARAM* p = find(params, OSSL_KEM_PARAM_IKME);
  if (p == nullptr) return 1;
  const uint8_t* bytes = octets(p, sizeof o.random);
  // The hybrid has no such input: its X25519 key is always made anew.
  if (bytes == nullptr || o.key == nullptr || o.key->algorithm().x25519) return 0;
  std::memcpy(o.random, bytes, sizeof o.random);
  o.has_random = true;
  return 1;
}
const OSSL_PARAM* settable(void*, void*) {
  static const OSSL_PARAM params[] = {describe(OSSL_KEM_PARAM_IKME, OSSL_PARAM_OCTET_STRING),
                                      kNoMore};
  return params;
}

int encapsulate_init(void* context, void* key, const OSSL_PARAM* params) {
  Operation& o = self(context);
  o.key = static_cast<const Key*>(key);
  o.has_random = false;
  return o.key != nullptr && o.key->has_public() && set_params(context, params);
}

int decapsulate_init(void* context, void* key, const OSSL_PARAM*) {
  Operation& o = self(context);
  o.key = static_cast<const Key*>(key);
  o.has_random = false;
  return o.key != nullptr && o.key->has_private();
}

// A fresh X25519 key: its public part into the ciphertext, the shared secret behind ML-KEM's.
bool encapsulate_curve(const Key& key, uint8_t* ciphertext, uint8_t* secret) {
  uint8_t ephemeral[kX25519Size];
  x25519_generate(ciphertext, ephemeral);
  const bool good = x25519(secret, ephemeral, key.public_part() + key.algorithm().kem_public());
  wipe(ephemeral, sizeof ephemeral);
  return good;
}

int encapsulate(void* context, unsigned char* out, size_t* out_size, unsigned char* secret,
                size_t* secret_size) {
  const Operation& o = self(context);
  if (o.key == nullptr) return 0;
  const Algorithm& a = o.key->algorithm();
  if (out == nullptr) {
    if (out_size != nullptr) *out_size = a.ciphertext_size();
    if (secret_size != nullptr) *secret_size = a.secret_size();
    return out_size != nullptr || secret_size != nullptr;
  }
  if (secret == nullptr || (out_size != nullptr && *out_size < a.ciphertext_size()) ||
      (secret_size != nullptr && *secret_size < a.secret_size())) {
    return 0;
  }
  const bool good =
      a.kem->encapsulate(out, secret, o.key->public_part(), o.has_random ? o.random : nullptr) &&
      (!a.x25519 ||
       encapsulate_curve(*o.key, out + a.kem->ciphertext_size, secret + kMlKemSecretSize));
  if (!good) {
    wipe(secret, a.secret_size());
    return 0;
  }
  if (out_size != nullptr) *out_size = a.ciphertext_size();
  if (secret_size != nullptr) *secret_size = a.secret_size();
  return 1;
}

int decapsulate(void* context, unsigned char* out, size_t* out_size, const unsigned char* in,
                size_t in_size) {
  const Operation& o = self(context);
  if (o.key == nullptr) return 0;
  const Algorithm& a = o.key->algorithm();
  if (out == nullptr) {
    if (out_size == nullptr) return 0;
    *out_size = a.secret_size();
    return 1;
  }
  if (in_size != a.ciphertext_size() || (out_size != nullptr && *out_size < a.secret_size())) {
    return 0;
  }
  const bool good =
      a.kem->decapsulate(out, in, o.key->private_part()) &&
      (!a.x25519 || x25519(out + kMlKemSecretSize, o.key->private_part() + a.kem->private_size,
                           in + a.kem->ciphertext_size));
  if (!good) {
    wipe(out, a.secret_size());
    return 0;
  }
  if (out_size != nullptr) *out_size = a.secret_size();
  return 1;
}

const OSSL_DISPATCH kFunctions[] = {
    entry(OSSL_FUNC_KEM_NEWCTX, make),
    entry(OSSL_FUNC_KEM_FREECTX, destroy),
    entry(OSSL_FUNC_KEM_DUPCTX, duplicate),
    entry(OSSL_FUNC_KEM_ENCAPSULATE_INIT, encapsulate_init),
    entry(OSSL_FUNC_KEM_ENCAPSULATE, encapsulate),
    entry(OSSL_FUNC_KEM_DECAPSULATE_INIT, decapsulate_init),
    entry(OSSL_FUNC_KEM_DECAPSULATE, decapsulate),
    entry(OSSL_FUNC_KEM_SET_CTX_PARAMS, set_params),
    entry(OSSL_FUNC_KEM_SETTABLE_CTX_PARAMS, settable),
    {0, nullptr},
};

}  // namespace

const OSSL_ALGORITHM kKems[] = {
    {kMlKem512Names, kProperties, kFunctions, "ML-KEM-512 of AWS-LC"},
    {kMlKem768Names, kProperties, kFunctions, "ML-KEM-768 of AWS-LC"},
    {kMlKem1024Names, kProperties, kFunctions, "ML-KEM-1024 of AWS-LC"},
    {kHybrid768Names, kProperties, kFunctions, "X25519MLKEM768 of AWS-LC"},
    {nullptr, nullptr, nullptr, nullptr},
};

}  // namespace pqedge::fast
