// Owners of wolfCrypt's structs, for wolfssl_*.cc only.
#pragma once

#include <wolfssl/options.h>

#include <wolfssl/wolfcrypt/curve25519.h>
#include <wolfssl/wolfcrypt/curve448.h>
#include <wolfssl/wolfcrypt/ecc.h>
#include <wolfssl/wolfcrypt/ed25519.h>
#include <wolfssl/wolfcrypt/random.h>

namespace pqedge::measure::wolf {

// A struct with its own init and free; neither copied nor moved, since wolfCrypt may point into it.
template <typename T, auto Init, auto Free>
class Owned {
 public:
  Owned() { ready_ = Init(&value_) == 0; }
  ~Owned() {
    if (ready_) Free(&value_);
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  T* get() { return &value_; }

 private:
  T value_{};
  bool ready_ = false;
};

using Random = Owned<WC_RNG, wc_InitRng, wc_FreeRng>;
using Curve25519Key = Owned<curve25519_key, wc_curve25519_init, wc_curve25519_free>;
using Curve448Key = Owned<curve448_key, wc_curve448_init, wc_curve448_free>;
using EccKey = Owned<ecc_key, wc_ecc_init, wc_ecc_free>;
using Ed25519Key = Owned<ed25519_key, wc_ed25519_init, wc_ed25519_free>;

inline word32 length_of(size_t bytes) { return static_cast<word32>(bytes); }

}  // namespace pqedge::measure::wolf
