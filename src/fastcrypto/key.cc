#include "fastcrypto/key.h"

#include <cstring>

namespace pqedge::fast {

Key::~Key() {
  if (bytes_ == nullptr) return;
  if (has_private_) wipe(private_bytes(), algorithm_->private_size());
  release(bytes_);
}

bool Key::reserve() {
  if (bytes_ == nullptr) {
    bytes_ =
        static_cast<uint8_t*>(allocate(algorithm_->public_size() + algorithm_->private_size()));
  }
  return bytes_ != nullptr;
}

bool Key::generate() {
  if (!reserve()) return false;
  const Algorithm& a = *algorithm_;
  if (a.dsa != nullptr && !a.dsa->generate(bytes_, private_bytes())) return false;
  if (a.kem != nullptr && !a.kem->generate(bytes_, private_bytes())) return false;
  if (a.x25519) {
    x25519_generate(bytes_ + a.kem_public(), private_bytes() + a.kem_private());
  }
  return has_public_ = has_private_ = true;
}

bool Key::set_public(const uint8_t* bytes, size_t size) {
  const Algorithm& a = *algorithm_;
  if (has_public_ || size != a.public_size()) return false;
  if (a.kem != nullptr && !a.kem->check_public(bytes, a.kem->public_size)) return false;
  if (!reserve()) return false;
  std::memcpy(bytes_, bytes, size);
  return has_public_ = true;
}

bool Key::set_private(const uint8_t* bytes, size_t size) {
  const Algorithm& a = *algorithm_;
  if (has_private_ || size != a.private_size() || !reserve()) return false;
  if (a.kem != nullptr && !a.kem->check_private(bytes, a.kem->private_size)) return false;
  if (a.dsa != nullptr && !a.dsa->public_from_private(bytes_, bytes)) return false;
  std::memcpy(private_bytes(), bytes, size);
  // The public part stands within ML-KEM's private one (FIPS 203 7.1: dkPKE, ek, H(ek), z).
  if (a.kem != nullptr) {
    std::memcpy(bytes_, bytes + a.kem->private_size - a.kem->public_size - 64, a.kem->public_size);
  }
  if (a.x25519) x25519_public(bytes_ + a.kem_public(), bytes + a.kem_private());
  return has_public_ = has_private_ = true;
}

bool Key::set_seed(const uint8_t* seed) {
  const Algorithm& a = *algorithm_;
  if (a.seed_size() == 0 || has_public_ || !reserve()) return false;
  const auto from_seed = a.dsa != nullptr ? a.dsa->from_seed : a.kem->from_seed;
  if (!from_seed(bytes_, private_bytes(), seed)) return false;
  return has_public_ = has_private_ = true;
}

bool Key::copy(const Key& from, bool with_private) {
  if (from.bytes_ == nullptr) return true;
  if (!reserve()) return false;
  const Algorithm& a = *algorithm_;
  if (from.has_public_) std::memcpy(bytes_, from.bytes_, a.public_size());
  has_public_ = from.has_public_;
  if (with_private && from.has_private_) {
    std::memcpy(private_bytes(), from.private_part(), a.private_size());
    has_private_ = true;
  }
  return true;
}

}  // namespace pqedge::fast
