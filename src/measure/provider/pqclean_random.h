// Where PQClean's code takes its random bytes from: the kernel, or for known answers a source that
// is fixed for this thread.
#pragma once

#include <openssl/evp.h>

#include <array>
#include <functional>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "crypto/handles.h"

namespace pqedge::measure::pqclean {

using RandomSource = std::function<void(MutableBytes)>;

// While it lives, this thread's bytes come from `source`.
class FixedRandom {
 public:
  explicit FixedRandom(RandomSource source);
  ~FixedRandom();
  FixedRandom(const FixedRandom&) = delete;
  FixedRandom& operator=(const FixedRandom&) = delete;

 private:
  RandomSource source_;
};

// The bytes given, then zeros: for a seed that a function reads at once.
RandomSource bytes_once(Bytes bytes);

// The generator of NIST's PQC response files: AES-256 CTR_DRBG without derivation function, seeded
// with 48 bytes (SP 800-90A 10.2.1).
class NistDrbg {
 public:
  explicit NistDrbg(Bytes entropy);
  void fill(MutableBytes out);

 private:
  using Block = std::array<uint8_t, 16>;
  Block next_block();
  void update(Bytes provided);  // 48 bytes, or none

  std::unique_ptr<EVP_CIPHER_CTX, crypto::FreeWith<EVP_CIPHER_CTX_free>> cipher_;
  std::array<uint8_t, 32> key_{};
  Block counter_{};
};

// That of HQC's response files: SHAKE256 over the entropy and a byte 1.
class ShakeStream {
 public:
  explicit ShakeStream(Bytes entropy);
  void fill(MutableBytes out);

 private:
  std::unique_ptr<EVP_MD_CTX, crypto::FreeWith<EVP_MD_CTX_free>> digest_;
};

}  // namespace pqedge::measure::pqclean
