// ML-KEM-1024 (FIPS 203) and the key derivation behind it, for ticket keys (T6).
#pragma once

#include <openssl/evp.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"

namespace pqedge::crypto {

inline constexpr size_t kKemSeedSize = 64;         // d and z, FIPS 203 7.1
inline constexpr size_t kKemPublicKeySize = 1568;  // the encapsulation key
inline constexpr size_t kKemCiphertextSize = 1568;
inline constexpr size_t kKemSecretSize = 32;

using KemSeed = std::array<uint8_t, kKemSeedSize>;
using KemPublicKey = std::array<uint8_t, kKemPublicKeySize>;
using KemSecret = std::array<uint8_t, kKemSecretSize>;
// May be used by several threads at once.
using KemKey = std::shared_ptr<EVP_PKEY>;

bool is_kem_key(const EVP_PKEY* key);
// Null: the library refused (an error is in its queue).
KemKey kem_from_seed(const KemSeed& seed);
KemKey kem_from_public(const KemPublicKey& bytes);  // checked as FIPS 203 7.2 asks
KemKey kem_generate();
bool kem_public_bytes(const EVP_PKEY* key, KemPublicKey& out);

bool kem_encapsulate(EVP_PKEY* key, uint8_t* ciphertext, KemSecret& secret);
// Of a ciphertext that was made for another key, or changed, a secret comes out that nobody knows
// (implicit rejection, FIPS 203 7.3).
bool kem_decapsulate(EVP_PKEY* key, const uint8_t* ciphertext, KemSecret& secret);

// HKDF with SHA-512 (RFC 5869).
bool derive_key(Bytes secret, Bytes salt, std::string_view info, MutableBytes out);

// AES-256-GCM in one piece. `out` has room for the text and the tag of 16 bytes at its end.
inline constexpr size_t kGcmTagSize = 16;
bool gcm_seal(const uint8_t key[32], const uint8_t nonce[12], Bytes header, Bytes text,
              uint8_t* out);
// `out` has room for all of `sealed` but its tag. False: something was changed, or the key is
// another; nothing of the text is in `out` then.
bool gcm_open(const uint8_t key[32], const uint8_t nonce[12], Bytes header, Bytes sealed,
              uint8_t* out);

}  // namespace pqedge::crypto
