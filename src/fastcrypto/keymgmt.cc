// Key management: making, importing and asking keys (provider-keymgmt(7)).
#include <openssl/core_names.h>

#include <cstring>
#include <initializer_list>
#include <new>

#include "fastcrypto/key.h"
#include "fastcrypto/params.h"
#include "fastcrypto/tables.h"

namespace pqedge::fast {
namespace {

constexpr int kPrivate = OSSL_KEYMGMT_SELECT_PRIVATE_KEY;
constexpr int kPublic = OSSL_KEYMGMT_SELECT_PUBLIC_KEY;
constexpr int kPair = OSSL_KEYMGMT_SELECT_KEYPAIR;

Key& self(void* key) { return *static_cast<Key*>(key); }
const Key& self(const void* key) { return *static_cast<const Key*>(key); }

template <const Algorithm& A>
void* make(void*) {
  return new (std::nothrow) Key(A);
}
void destroy(void* key) { delete static_cast<Key*>(key); }

int has(const void* key, int selection) {
  if (key == nullptr) return 0;
  const Key& k = self(key);
  return ((selection & kPublic) == 0 || k.has_public()) &&
         ((selection & kPrivate) == 0 || k.has_private());
}

// Private keys have one public key each, so that it tells them apart.
int match(const void* a, const void* b, int selection) {
  const Key& x = self(a);
  const Key& y = self(b);
  if (&x.algorithm() != &y.algorithm()) return 0;
  if ((selection & kPair) == 0) return 1;
  return x.has_public() && y.has_public() &&
         std::memcmp(x.public_part(), y.public_part(), x.algorithm().public_size()) == 0;
}

// What a key holds was checked when it was put there.
int validate(const void* key, int selection, int) { return has(key, selection & kPair); }

// ---- making ------------------------------------------------------------------------------------

struct Generation : FromCore {
  Generation(const Algorithm& a, int wanted) : algorithm(&a), selection(wanted) {}

  const Algorithm* algorithm;
  int selection;
};

template <const Algorithm& A>
void* generation_begin(void*, int selection, const OSSL_PARAM*) {
  return new (std::nothrow) Generation(A, selection);
}
// A group's name is the algorithm's, which is known already. A seed is taken by importing it.
int generation_set_params(void*, const OSSL_PARAM* params) {
  return find(params, OSSL_PKEY_PARAM_ML_KEM_SEED) == nullptr;
}
const OSSL_PARAM* generation_settable(void*, void*) {
  static const OSSL_PARAM params[] = {describe(OSSL_PKEY_PARAM_GROUP_NAME, OSSL_PARAM_UTF8_STRING),
                                      kNoMore};
  return params;
}
void* generate(void* generation, OSSL_CALLBACK*, void*) {
  const auto& g = *static_cast<Generation*>(generation);
  auto* key = new (std::nothrow) Key(*g.algorithm);
  // Parameters alone: an empty key, which a peer's public key is put into.
  if (key == nullptr || (g.selection & kPair) == 0 || key->generate()) return key;
  delete key;
  return nullptr;
}
void generation_end(void* generation) { delete static_cast<Generation*>(generation); }

// ---- asking ------------------------------------------------------------------------------------

int get_params(void* key, OSSL_PARAM* params) {
  const Key& k = self(key);
  const Algorithm& a = k.algorithm();
  if (!answer(find(params, OSSL_PKEY_PARAM_BITS), a.bits) ||
      !answer(find(params, OSSL_PKEY_PARAM_SECURITY_BITS), a.security_bits) ||
      !answer(find(params, OSSL_PKEY_PARAM_MAX_SIZE), static_cast<int>(a.largest()))) {
    return 0;
  }
  // ML-DSA hashes by itself (FIPS 204 5.4 has another algorithm for what is hashed before).
  OSSL_PARAM* digest = find(params, OSSL_PKEY_PARAM_MANDATORY_DIGEST);
  if (a.dsa != nullptr && digest != nullptr && !answer_nothing(digest)) return 0;
  for (const char* name : {OSSL_PKEY_PARAM_ENCODED_PUBLIC_KEY, OSSL_PKEY_PARAM_PUB_KEY}) {
    OSSL_PARAM* p = find(params, name);
    if (p != nullptr && (!k.has_public() || !answer(p, k.public_part(), a.public_size()))) return 0;
  }
  OSSL_PARAM* p = find(params, OSSL_PKEY_PARAM_PRIV_KEY);
  return p == nullptr || (k.has_private() && answer(p, k.private_part(), a.private_size()));
}
const OSSL_PARAM* gettable(void*) {
  static const OSSL_PARAM params[] = {
      describe(OSSL_PKEY_PARAM_BITS, OSSL_PARAM_INTEGER),
      describe(OSSL_PKEY_PARAM_SECURITY_BITS, OSSL_PARAM_INTEGER),
      describe(OSSL_PKEY_PARAM_MAX_SIZE, OSSL_PARAM_INTEGER),
      describe(OSSL_PKEY_PARAM_ENCODED_PUBLIC_KEY, OSSL_PARAM_OCTET_STRING),
      describe(OSSL_PKEY_PARAM_PUB_KEY, OSSL_PARAM_OCTET_STRING),
      describe(OSSL_PKEY_PARAM_PRIV_KEY, OSSL_PARAM_OCTET_STRING),
      describe(OSSL_PKEY_PARAM_MANDATORY_DIGEST, OSSL_PARAM_UTF8_STRING),
      kNoMore,
  };
  return params;
}

int set_params(void* key, const OSSL_PARAM* params) {
  Key& k = self(key);
  const OSSL_PARAM* p = find(params, OSSL_PKEY_PARAM_ENCODED_PUBLIC_KEY);
  if (p == nullptr) return 1;
  const uint8_t* bytes = octets(p, k.algorithm().public_size());
  return bytes != nullptr && k.set_public(bytes, p->data_size);
}
const OSSL_PARAM* settable(void*) {
  static const OSSL_PARAM params[] = {
      describe(OSSL_PKEY_PARAM_ENCODED_PUBLIC_KEY, OSSL_PARAM_OCTET_STRING), kNoMore};
  return params;
}

// ---- importing and exporting -------------------------------------------------------------------

int import_key(void* key, int selection, const OSSL_PARAM* params) {
  Key& k = self(key);
  const Algorithm& a = k.algorithm();
  const OSSL_PARAM* seed = find(params, OSSL_PKEY_PARAM_ML_KEM_SEED);
  const OSSL_PARAM* secret = find(params, OSSL_PKEY_PARAM_PRIV_KEY);
  const OSSL_PARAM* open = find(params, OSSL_PKEY_PARAM_PUB_KEY);
  if ((selection & kPrivate) != 0 && seed != nullptr) {
    const uint8_t* bytes = octets(seed, a.seed_size());
    if (a.seed_size() == 0 || bytes == nullptr || !k.set_seed(bytes)) return 0;
  } else if ((selection & kPrivate) != 0 && secret != nullptr) {
    const uint8_t* bytes = octets(secret, a.private_size());
    if (bytes == nullptr || !k.set_private(bytes, secret->data_size)) return 0;
  }
  if ((selection & kPublic) == 0 || open == nullptr) return k.has_private();
  const uint8_t* bytes = octets(open, a.public_size());
  if (bytes == nullptr) return 0;
  // With a private key there is a public one already, and it has to be the same.
  if (k.has_public()) return std::memcmp(bytes, k.public_part(), a.public_size()) == 0;
  return k.set_public(bytes, open->data_size);
}
const OSSL_PARAM* import_types(int) {
  static const OSSL_PARAM params[] = {
      describe(OSSL_PKEY_PARAM_PUB_KEY, OSSL_PARAM_OCTET_STRING),
      describe(OSSL_PKEY_PARAM_PRIV_KEY, OSSL_PARAM_OCTET_STRING),
      describe(OSSL_PKEY_PARAM_ML_KEM_SEED, OSSL_PARAM_OCTET_STRING),
      kNoMore,
  };
  return params;
}

int export_key(void* key, int selection, OSSL_CALLBACK* take, void* argument) {
  const Key& k = self(key);
  const Algorithm& a = k.algorithm();
  OSSL_PARAM params[3] = {kNoMore, kNoMore, kNoMore};
  size_t count = 0;
  const auto add = [&](const char* name, const uint8_t* bytes, size_t size) {
    params[count++] = {name, OSSL_PARAM_OCTET_STRING, const_cast<uint8_t*>(bytes), size,
                       OSSL_PARAM_UNMODIFIED};
  };
  if ((selection & kPublic) != 0 && k.has_public()) {
    add(OSSL_PKEY_PARAM_PUB_KEY, k.public_part(), a.public_size());
  }
  if ((selection & kPrivate) != 0 && k.has_private()) {
    add(OSSL_PKEY_PARAM_PRIV_KEY, k.private_part(), a.private_size());
  }
  return count > 0 && take(params, argument) == 1;
}

void* duplicate(const void* key, int selection) {
  const Key& from = self(key);
  auto* copy = new (std::nothrow) Key(from.algorithm());
  // Parameters alone are an empty key: TLS 1.2 puts the peer's public key into it.
  if (copy == nullptr || (selection & kPair) == 0 || copy->copy(from, (selection & kPrivate) != 0))
    return copy;
  delete copy;
  return nullptr;
}

template <const Algorithm& A>
const OSSL_DISPATCH kFunctions[] = {
    entry(OSSL_FUNC_KEYMGMT_NEW, make<A>),
    entry(OSSL_FUNC_KEYMGMT_FREE, destroy),
    entry(OSSL_FUNC_KEYMGMT_GEN_INIT, generation_begin<A>),
    entry(OSSL_FUNC_KEYMGMT_GEN_SET_PARAMS, generation_set_params),
    entry(OSSL_FUNC_KEYMGMT_GEN_SETTABLE_PARAMS, generation_settable),
    entry(OSSL_FUNC_KEYMGMT_GEN, generate),
    entry(OSSL_FUNC_KEYMGMT_GEN_CLEANUP, generation_end),
    entry(OSSL_FUNC_KEYMGMT_GET_PARAMS, get_params),
    entry(OSSL_FUNC_KEYMGMT_GETTABLE_PARAMS, gettable),
    entry(OSSL_FUNC_KEYMGMT_SET_PARAMS, set_params),
    entry(OSSL_FUNC_KEYMGMT_SETTABLE_PARAMS, settable),
    entry(OSSL_FUNC_KEYMGMT_HAS, has),
    entry(OSSL_FUNC_KEYMGMT_MATCH, match),
    entry(OSSL_FUNC_KEYMGMT_VALIDATE, validate),
    entry(OSSL_FUNC_KEYMGMT_IMPORT, import_key),
    entry(OSSL_FUNC_KEYMGMT_IMPORT_TYPES, import_types),
    entry(OSSL_FUNC_KEYMGMT_EXPORT, export_key),
    entry(OSSL_FUNC_KEYMGMT_EXPORT_TYPES, import_types),
    entry(OSSL_FUNC_KEYMGMT_DUP, duplicate),
    {0, nullptr},
};

}  // namespace

const OSSL_ALGORITHM kKeyManagement[] = {
    {kX25519Names, kProperties, kFunctions<kX25519>, "X25519 of AWS-LC"},
    {kMlKem512Names, kProperties, kFunctions<kKem512>, "ML-KEM-512 of AWS-LC"},
    {kMlKem768Names, kProperties, kFunctions<kKem768>, "ML-KEM-768 of AWS-LC"},
    {kMlKem1024Names, kProperties, kFunctions<kKem1024>, "ML-KEM-1024 of AWS-LC"},
    {kHybrid768Names, kProperties, kFunctions<kHybrid768>, "X25519MLKEM768 of AWS-LC"},
    {kMlDsa44Names, kProperties, kFunctions<kDsa44>, "ML-DSA-44 of AWS-LC"},
    {kMlDsa65Names, kProperties, kFunctions<kDsa65>, "ML-DSA-65 of AWS-LC"},
    {kMlDsa87Names, kProperties, kFunctions<kDsa87>, "ML-DSA-87 of AWS-LC"},
    {nullptr, nullptr, nullptr, nullptr},
};

}  // namespace pqedge::fast
