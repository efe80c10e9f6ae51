// Botan's primitives. Inside the provider only.
#pragma once

#include <exception>
#include <memory>
#include <string>
#include <string_view>

#include "measure/provider/primitive.h"

namespace Botan {
class RandomNumberGenerator;
}

namespace pqedge::measure::botan {

using Rng = std::shared_ptr<Botan::RandomNumberGenerator>;

// Botan says by exceptions what failed.
template <typename Work>
auto attempt(std::string_view what, Work&& work) -> Result<decltype(work())> {
  try {
    if constexpr (std::is_void_v<decltype(work())>) {
      work();
      return {};
    } else {
      return work();
    }
  } catch (const std::exception& error) {
    return fail("Botan: {}: {}", what, error.what());
  }
}

// Null: not offered.
std::unique_ptr<Kem> make_kem(std::string_view algorithm, const Rng& rng);
std::unique_ptr<KeyAgreement> make_agreement(std::string_view algorithm, const Rng& rng);
std::unique_ptr<Signature> make_signature(std::string_view algorithm, const Rng& rng);
std::unique_ptr<Aead> make_aead(std::string_view algorithm, Bytes key, Bytes iv);

Implementation implementation_of(std::string_view algorithm);

}  // namespace pqedge::measure::botan
