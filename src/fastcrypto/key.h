// Keys of the algorithms that the module offers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fastcrypto/memory.h"
#include "fastcrypto/primitives.h"

namespace pqedge::fast {

// X25519 alone, ML-KEM alone, or the two as the hybrid X25519MLKEM768 (RFC 10024): ML-KEM's part
// first in keys, ciphertexts and secrets. Or ML-DSA.
struct Algorithm {
  const MlKem* kem;  // null: none
  bool x25519;
  int bits;  // as OpenSSL's own code says of the algorithm
  int security_bits;
  const MlDsa* dsa = nullptr;  // null: none; else nothing of the others

  size_t kem_public() const { return kem == nullptr ? 0 : kem->public_size; }
  size_t kem_private() const { return kem == nullptr ? 0 : kem->private_size; }
  size_t curve() const { return x25519 ? kX25519Size : 0; }
  size_t public_size() const { return dsa != nullptr ? dsa->public_size : kem_public() + curve(); }
  size_t private_size() const {
    return dsa != nullptr ? dsa->private_size : kem_private() + curve();
  }
  size_t seed_size() const {  // 0: no key is made from one
    if (dsa != nullptr) return kMlDsaSeedSize;
    return kem != nullptr && !x25519 ? kMlKemSeedSize : 0;
  }
  // The most that an operation gives.
  size_t largest() const {
    if (dsa != nullptr) return dsa->signature_size;
    return kem == nullptr ? secret_size() : ciphertext_size();
  }
  size_t ciphertext_size() const { return (kem == nullptr ? 0 : kem->ciphertext_size) + curve(); }
  size_t secret_size() const { return (kem == nullptr ? 0 : kMlKemSecretSize) + curve(); }
};

inline constexpr Algorithm kX25519{nullptr, true, 253, 128};
inline constexpr Algorithm kKem512{&kMlKem512, false, 512, 128};
inline constexpr Algorithm kKem768{&kMlKem768, false, 768, 192};
inline constexpr Algorithm kKem1024{&kMlKem1024, false, 1024, 256};
inline constexpr Algorithm kHybrid768{&kMlKem768, true, 1184 * 8, 192};
inline constexpr Algorithm kDsa44{nullptr, false, 1312 * 8, 128, &kMlDsa44};
inline constexpr Algorithm kDsa65{nullptr, false, 1952 * 8, 192, &kMlDsa65};
inline constexpr Algorithm kDsa87{nullptr, false, 2592 * 8, 256, &kMlDsa87};

// The public part and then the private one, wiped when it goes.
class Key : public FromCore {
 public:
  explicit Key(const Algorithm& algorithm) : algorithm_(&algorithm) {}
  ~Key();
  Key(const Key&) = delete;
  Key& operator=(const Key&) = delete;

  const Algorithm& algorithm() const { return *algorithm_; }
  bool has_public() const { return has_public_; }
  bool has_private() const { return has_private_; }
  const uint8_t* public_part() const { return bytes_; }
  const uint8_t* private_part() const { return bytes_ + algorithm_->public_size(); }

  // Each is false for bytes that are no such key, and then the key is as it was without.
  bool generate();
  bool set_public(const uint8_t* bytes, size_t size);
  bool set_private(const uint8_t* bytes, size_t size);
  bool set_seed(const uint8_t* seed);  // of seed_size()
  bool copy(const Key& from, bool with_private);

 private:
  uint8_t* private_bytes() { return bytes_ + algorithm_->public_size(); }
  bool reserve();

  const Algorithm* algorithm_;
  uint8_t* bytes_ = nullptr;
  bool has_public_ = false;
  bool has_private_ = false;
};

}  // namespace pqedge::fast
