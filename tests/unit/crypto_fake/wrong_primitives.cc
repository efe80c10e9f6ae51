// In place of AWS-LC, for a pqedge-fast.so whose answers are wrong: known answers must find it.
#include <cstring>

#include "fastcrypto/primitives.h"

namespace pqedge::fast {
namespace {

template <size_t PublicSize, size_t PrivateSize, size_t CiphertextSize>
constexpr MlKem make() {
  return {
      .public_size = PublicSize,
      .private_size = PrivateSize,
      .ciphertext_size = CiphertextSize,
      .generate =
          [](uint8_t* public_key, uint8_t* private_key) {
            std::memset(public_key, 1, PublicSize);
            std::memset(private_key, 2, PrivateSize);
            return true;
          },
      .from_seed =
          [](uint8_t* public_key, uint8_t* private_key, const uint8_t*) {
            std::memset(public_key, 1, PublicSize);
            std::memset(private_key, 2, PrivateSize);
            return true;
          },
      .check_public = [](const uint8_t*, size_t size) { return size == PublicSize; },
      .check_private = [](const uint8_t*, size_t size) { return size == PrivateSize; },
      .encapsulate =
          [](uint8_t* ciphertext, uint8_t* secret, const uint8_t*, const uint8_t*) {
            std::memset(ciphertext, 3, CiphertextSize);
            std::memset(secret, 4, kMlKemSecretSize);
            return true;
          },
      .decapsulate =
          [](uint8_t* secret, const uint8_t*, const uint8_t*) {
            std::memset(secret, 4, kMlKemSecretSize);
            return true;
          },
  };
}

}  // namespace

constinit const MlKem kMlKem512 = make<800, 1632, 768>();
constinit const MlKem kMlKem768 = make<1184, 2400, 1088>();
constinit const MlKem kMlKem1024 = make<1568, 3168, 1568>();

void x25519_generate(uint8_t* public_key, uint8_t* private_key) {
  std::memset(public_key, 5, kX25519Size);
  std::memset(private_key, 6, kX25519Size);
}
void x25519_public(uint8_t* public_key, const uint8_t*) { std::memset(public_key, 5, kX25519Size); }
bool x25519(uint8_t* secret, const uint8_t*, const uint8_t*) {
  std::memset(secret, 7, kX25519Size);
  return true;
}
template <size_t PublicSize, size_t PrivateSize>
bool fill_pair(uint8_t* public_key, uint8_t* private_key) {
  std::memset(public_key, 10, PublicSize);
  std::memset(private_key, 11, PrivateSize);
  return true;
}

template <size_t PublicSize, size_t PrivateSize, size_t SignatureSize>
constexpr MlDsa wrong_dsa() {
  return {.public_size = PublicSize,
          .private_size = PrivateSize,
          .signature_size = SignatureSize,
          .generate = fill_pair<PublicSize, PrivateSize>,
          .from_seed =
              [](uint8_t* public_key, uint8_t* private_key, const uint8_t*) {
                return fill_pair<PublicSize, PrivateSize>(public_key, private_key);
              },
          .public_from_private =
              [](uint8_t* public_key, const uint8_t*) {
                std::memset(public_key, 10, PublicSize);
                return true;
              },
          .sign =
              [](uint8_t* signature, const uint8_t*, const uint8_t*, size_t, bool) {
                std::memset(signature, 12, SignatureSize);
                return true;
              },
          .verify = [](const uint8_t*, size_t, const uint8_t*, const uint8_t*,
                       size_t) { return true; }};
}
constinit const MlDsa kMlDsa44 = wrong_dsa<1312, 2560, 2420>();
constinit const MlDsa kMlDsa65 = wrong_dsa<1952, 4032, 3309>();
constinit const MlDsa kMlDsa87 = wrong_dsa<2592, 4896, 4627>();

constexpr Hkdf wrong_hkdf(size_t hash_size) {
  return {.hash_size = hash_size,
          .hash_of_nothing = [](uint8_t*) { return true; },
          .extract = [](uint8_t* out, const uint8_t*, size_t, const uint8_t*,
                        size_t) { return (*out = 8) != 0; },
          .expand = [](uint8_t* out, size_t size, const uint8_t*, size_t, const uint8_t*,
                       size_t) { return std::memset(out, 9, size) != nullptr; }};
}
constinit const Hkdf kHkdfSha256 = wrong_hkdf(32);
constinit const Hkdf kHkdfSha384 = wrong_hkdf(48);
constinit const Hkdf kHkdfSha512 = wrong_hkdf(64);

void wipe(void* bytes, size_t size) { std::memset(bytes, 0, size); }
bool primitives_allocate_by(void* (*)(size_t, const char*, int),
                            void* (*)(void*, size_t, const char*, int),
                            void (*)(void*, const char*, int)) {
  return true;
}
const char* library_version() { return "wrong on purpose"; }

}  // namespace pqedge::fast
