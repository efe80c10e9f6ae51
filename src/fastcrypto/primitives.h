// What pqedge-fast.so computes with, free of any library's types: AWS-LC's headers and OpenSSL's
// name the same things, and must never meet in one unit.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pqedge::fast {

inline constexpr size_t kX25519Size = 32;       // a key of either kind, and the shared secret
inline constexpr size_t kMlKemSeedSize = 64;    // d and z, FIPS 203 7.1
inline constexpr size_t kMlKemSecretSize = 32;  // FIPS 203 table 3
inline constexpr size_t kMlKemRandomSize = 32;  // m, FIPS 203 7.2
inline constexpr size_t kMlDsaSeedSize = 32;    // xi, FIPS 204 5.1

// ML-KEM of one parameter set. Keys and ciphertexts are encoded as FIPS 203 says. Every function is
// true on success. Constant time in all that is secret, as mlkem-native is.
struct MlKem {
  size_t public_size;
  size_t private_size;
  size_t ciphertext_size;
  bool (*generate)(uint8_t* public_key, uint8_t* private_key);
  bool (*from_seed)(uint8_t* public_key, uint8_t* private_key, const uint8_t* seed);
  // The modulus check of FIPS 203 7.2.
  bool (*check_public)(const uint8_t* public_key, size_t size);
  // The hash check of FIPS 203 7.3.
  bool (*check_private)(const uint8_t* private_key, size_t size);
  // `random` may be null: from the generator.
  bool (*encapsulate)(uint8_t* ciphertext, uint8_t* secret, const uint8_t* public_key,
                      const uint8_t* random);
  bool (*decapsulate)(uint8_t* secret, const uint8_t* ciphertext, const uint8_t* private_key);
};
extern const MlKem kMlKem512;
extern const MlKem kMlKem768;
extern const MlKem kMlKem1024;

// ML-DSA of one parameter set, without a context string (FIPS 204 5). Keys and signatures are
// encoded as FIPS 204 says. Every function is true on success.
struct MlDsa {
  size_t public_size;
  size_t private_size;
  size_t signature_size;
  bool (*generate)(uint8_t* public_key, uint8_t* private_key);
  bool (*from_seed)(uint8_t* public_key, uint8_t* private_key, const uint8_t* seed);
  // False as well for a private key that is none.
  bool (*public_from_private)(uint8_t* public_key, const uint8_t* private_key);
  // Hedged with the generator, or deterministic.
  bool (*sign)(uint8_t* signature, const uint8_t* private_key, const uint8_t* message, size_t size,
               bool deterministic);
  bool (*verify)(const uint8_t* signature, size_t signature_size, const uint8_t* public_key,
                 const uint8_t* message, size_t size);
};
extern const MlDsa kMlDsa44;
extern const MlDsa kMlDsa65;
extern const MlDsa kMlDsa87;

// RFC 7748. Constant time (s2n-bignum).
void x25519_generate(uint8_t* public_key, uint8_t* private_key);
void x25519_public(uint8_t* public_key, const uint8_t* private_key);
// False: the result is all zero, which RFC 8446 7.4.2 refuses.
bool x25519(uint8_t* secret, const uint8_t* private_key, const uint8_t* peer);

// HKDF (RFC 5869) over one hash of FIPS 180-4. Every function is true on success.
struct Hkdf {
  size_t hash_size;
  bool (*hash_of_nothing)(uint8_t* out);  // `hash_size` bytes
  // 2.2: `hash_size` bytes, a pseudorandom key.
  bool (*extract)(uint8_t* out, const uint8_t* salt, size_t salt_size, const uint8_t* key,
                  size_t key_size);
  // 2.3: up to 255 times `hash_size` bytes.
  bool (*expand)(uint8_t* out, size_t size, const uint8_t* key, size_t key_size,
                 const uint8_t* info, size_t info_size);
};
extern const Hkdf kHkdfSha256;
extern const Hkdf kHkdfSha384;
extern const Hkdf kHkdfSha512;

// Not left out by a compiler.
void wipe(void* bytes, size_t size);

// From now on the library allocates by these, which have OpenSSL's own signatures. False: it has
// allocated already.
bool primitives_allocate_by(void* (*allocate)(size_t, const char*, int),
                            void* (*reallocate)(void*, size_t, const char*, int),
                            void (*release)(void*, const char*, int));

const char* library_version();

}  // namespace pqedge::fast
