// The primitives by AWS-LC's libcrypto: mlkem-native, mldsa-native, s2n-bignum, its HKDF. The one
// unit that sees its headers.
#include <crypto/fipsmodule/ml_dsa/ml_dsa.h>
#include <crypto/fipsmodule/ml_kem/ml_kem.h>
#include <openssl/base.h>
#include <openssl/crypto.h>
#include <openssl/curve25519.h>
#include <openssl/digest.h>
#include <openssl/hkdf.h>
#include <openssl/mem.h>
#include <openssl/service_indicator.h>
#include <openssl/sha.h>

#include "fastcrypto/primitives.h"

#ifndef OPENSSL_IS_AWSLC
#error "these are not the headers of AWS-LC"
#endif

namespace pqedge::fast {
namespace {

using Generate = int(uint8_t*, size_t*, uint8_t*, size_t*);
using FromSeed = int(uint8_t*, size_t*, uint8_t*, size_t*, const uint8_t*);
using Encapsulate = int(uint8_t*, size_t*, uint8_t*, size_t*, const uint8_t*);
using EncapsulateWith = int(uint8_t*, size_t*, uint8_t*, size_t*, const uint8_t*, const uint8_t*);
using Decapsulate = int(uint8_t*, size_t*, const uint8_t*, const uint8_t*);
using Check = int(const uint8_t*, size_t);

// AWS-LC's own functions of one parameter set: 0 is success.
template <size_t PublicSize, size_t PrivateSize, size_t CiphertextSize, Generate G, FromSeed S,
          Encapsulate E, EncapsulateWith W, Decapsulate D, Check CheckPublic, Check CheckPrivate>
constexpr MlKem make() {
  return {
      .public_size = PublicSize,
      .private_size = PrivateSize,
      .ciphertext_size = CiphertextSize,
      .generate =
          [](uint8_t* public_key, uint8_t* private_key) {
            size_t public_size = PublicSize;
            size_t private_size = PrivateSize;
            return G(public_key, &public_size, private_key, &private_size) == 0;
          },
      .from_seed =
          [](uint8_t* public_key, uint8_t* private_key, const uint8_t* seed) {
            size_t public_size = PublicSize;
            size_t private_size = PrivateSize;
            return S(public_key, &public_size, private_key, &private_size, seed) == 0;
          },
      .check_public = [](const uint8_t* key,
                         size_t size) { return size == PublicSize && CheckPublic(key, size) == 0; },
      .check_private =
          [](const uint8_t* key, size_t size) {
            return size == PrivateSize && CheckPrivate(key, size) == 0;
          },
      .encapsulate =
          [](uint8_t* ciphertext, uint8_t* secret, const uint8_t* key, const uint8_t* random) {
            size_t ciphertext_size = CiphertextSize;
            size_t secret_size = kMlKemSecretSize;
            return (random == nullptr
                        ? E(ciphertext, &ciphertext_size, secret, &secret_size, key)
                        : W(ciphertext, &ciphertext_size, secret, &secret_size, key, random)) == 0;
          },
      .decapsulate =
          [](uint8_t* secret, const uint8_t* ciphertext, const uint8_t* key) {
            size_t secret_size = kMlKemSecretSize;
            return D(secret, &secret_size, ciphertext, key) == 0;
          },
  };
}

using DsaGenerate = int(uint8_t*, uint8_t*, uint8_t*);
using DsaFromSeed = int(uint8_t*, uint8_t*, const uint8_t*);
using DsaPublic = int(uint8_t*, const uint8_t*);
using DsaSign = int(const uint8_t*, uint8_t*, size_t*, const uint8_t*, size_t, const uint8_t*,
                    size_t);
using DsaSignWith = int(const uint8_t*, uint8_t*, size_t*, const uint8_t*, size_t, const uint8_t*,
                        size_t, const uint8_t*);
using DsaVerify = int(const uint8_t*, const uint8_t*, size_t, const uint8_t*, size_t,
                      const uint8_t*, size_t);

// These return 1 for success.
template <size_t PublicSize, size_t PrivateSize, size_t SignatureSize, DsaGenerate G, DsaFromSeed S,
          DsaPublic P, DsaSign Hedged, DsaSignWith With, DsaVerify V>
constexpr MlDsa make_dsa() {
  return {
      .public_size = PublicSize,
      .private_size = PrivateSize,
      .signature_size = SignatureSize,
      .generate =
          [](uint8_t* public_key, uint8_t* private_key) {
            uint8_t seed[kMlDsaSeedSize];
            const bool good = G(public_key, private_key, seed) == 1;
            OPENSSL_cleanse(seed, sizeof seed);
            return good;
          },
      .from_seed = [](uint8_t* public_key, uint8_t* private_key,
                      const uint8_t* seed) { return S(public_key, private_key, seed) == 1; },
      .public_from_private = [](uint8_t* public_key,
                                const uint8_t* key) { return P(public_key, key) == 1; },
      .sign =
          [](uint8_t* signature, const uint8_t* key, const uint8_t* message, size_t size,
             bool deterministic) {
            size_t signature_size = SignatureSize;
            if (!deterministic) {
              return Hedged(key, signature, &signature_size, message, size, nullptr, 0) == 1;
            }
            static constexpr uint8_t no_context[2] = {0, 0};  // FIPS 204 5.2: a domain, a length
            static constexpr uint8_t zeros[MLDSA65_SIGNATURE_SEED_BYTES] = {};
            return With(key, signature, &signature_size, message, size, no_context,
                        sizeof no_context, zeros) == 1;
          },
      .verify =
          [](const uint8_t* signature, size_t signature_size, const uint8_t* key,
             const uint8_t* message, size_t size) {
            return V(key, signature, signature_size, message, size, nullptr, 0) == 1;
          },
  };
}

template <size_t Size, const EVP_MD* Hash(), uint8_t* Digest(const uint8_t*, size_t, uint8_t*)>
constexpr Hkdf make_hkdf() {
  return {
      .hash_size = Size,
      .hash_of_nothing =
          [](uint8_t* out) {
            const uint8_t nothing = 0;
            return Digest(&nothing, 0, out) != nullptr;
          },
      .extract =
          [](uint8_t* out, const uint8_t* salt, size_t salt_size, const uint8_t* key,
             size_t key_size) {
            size_t size = 0;
            return HKDF_extract(out, &size, Hash(), key, key_size, salt, salt_size) == 1;
          },
      .expand =
          [](uint8_t* out, size_t size, const uint8_t* key, size_t key_size, const uint8_t* info,
             size_t info_size) {
            return HKDF_expand(out, size, Hash(), key, key_size, info, info_size) == 1;
          },
  };
}

}  // namespace

constinit const MlKem kMlKem512 =
    make<MLKEM512_PUBLIC_KEY_BYTES, MLKEM512_SECRET_KEY_BYTES, MLKEM512_CIPHERTEXT_BYTES,
         ml_kem_512_keypair, ml_kem_512_keypair_deterministic, ml_kem_512_encapsulate,
         ml_kem_512_encapsulate_deterministic, ml_kem_512_decapsulate, ml_kem_512_check_pk,
         ml_kem_512_check_sk>();
constinit const MlKem kMlKem768 =
    make<MLKEM768_PUBLIC_KEY_BYTES, MLKEM768_SECRET_KEY_BYTES, MLKEM768_CIPHERTEXT_BYTES,
         ml_kem_768_keypair, ml_kem_768_keypair_deterministic, ml_kem_768_encapsulate,
         ml_kem_768_encapsulate_deterministic, ml_kem_768_decapsulate, ml_kem_768_check_pk,
         ml_kem_768_check_sk>();
constinit const MlKem kMlKem1024 =
    make<MLKEM1024_PUBLIC_KEY_BYTES, MLKEM1024_SECRET_KEY_BYTES, MLKEM1024_CIPHERTEXT_BYTES,
         ml_kem_1024_keypair, ml_kem_1024_keypair_deterministic, ml_kem_1024_encapsulate,
         ml_kem_1024_encapsulate_deterministic, ml_kem_1024_decapsulate, ml_kem_1024_check_pk,
         ml_kem_1024_check_sk>();

constinit const MlDsa kMlDsa44 =
    make_dsa<MLDSA44_PUBLIC_KEY_BYTES, MLDSA44_PRIVATE_KEY_BYTES, MLDSA44_SIGNATURE_BYTES,
             ml_dsa_44_keypair, ml_dsa_44_keypair_internal, ml_dsa_44_pack_pk_from_sk,
             ml_dsa_44_sign, ml_dsa_44_sign_internal, ml_dsa_44_verify>();
constinit const MlDsa kMlDsa65 =
    make_dsa<MLDSA65_PUBLIC_KEY_BYTES, MLDSA65_PRIVATE_KEY_BYTES, MLDSA65_SIGNATURE_BYTES,
             ml_dsa_65_keypair, ml_dsa_65_keypair_internal, ml_dsa_65_pack_pk_from_sk,
             ml_dsa_65_sign, ml_dsa_65_sign_internal, ml_dsa_65_verify>();
constinit const MlDsa kMlDsa87 =
    make_dsa<MLDSA87_PUBLIC_KEY_BYTES, MLDSA87_PRIVATE_KEY_BYTES, MLDSA87_SIGNATURE_BYTES,
             ml_dsa_87_keypair, ml_dsa_87_keypair_internal, ml_dsa_87_pack_pk_from_sk,
             ml_dsa_87_sign, ml_dsa_87_sign_internal, ml_dsa_87_verify>();

void x25519_generate(uint8_t* public_key, uint8_t* private_key) {
  X25519_keypair(public_key, private_key);
}

void x25519_public(uint8_t* public_key, const uint8_t* private_key) {
  X25519_public_from_private(public_key, private_key);
}

bool x25519(uint8_t* secret, const uint8_t* private_key, const uint8_t* peer) {
  return X25519(secret, private_key, peer) == 1;
}

constinit const Hkdf kHkdfSha256 = make_hkdf<SHA256_DIGEST_LENGTH, EVP_sha256, SHA256>();
constinit const Hkdf kHkdfSha384 = make_hkdf<SHA384_DIGEST_LENGTH, EVP_sha384, SHA384>();
constinit const Hkdf kHkdfSha512 = make_hkdf<SHA512_DIGEST_LENGTH, EVP_sha512, SHA512>();

void wipe(void* bytes, size_t size) { OPENSSL_cleanse(bytes, size); }

bool primitives_allocate_by(void* (*allocate)(size_t, const char*, int),
                            void* (*reallocate)(void*, size_t, const char*, int),
                            void (*release)(void*, const char*, int)) {
  return CRYPTO_set_mem_functions(allocate, reallocate, release) == 1;
}

const char* library_version() { return awslc_version_string(); }

}  // namespace pqedge::fast
