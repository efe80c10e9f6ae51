// Runs the known answers. Inside the provider only; Registry::check() is the way in.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "measure/provider/primitive.h"
#include "measure/provider/vectors.h"

namespace pqedge::measure {

// One published vector put to one provider. `offered` is false where the library has no way to take
// the vector's input; that says nothing against it.
struct Answer {
  bool offered = true;
  bool passed = false;
  std::string detail;  // why not
};
Answer put(Provider& provider, const Vector& vector);

// Error: what is wrong. All of them use keys made for the purpose.

// With itself: what it makes it takes back, a changed output is refused or gives another secret,
// and every encoding has the length that the standard says.
Result<void> check_alone(Provider& provider, const Algorithm& algorithm);
// Two providers with each other, both ways.
Result<void> check_together(Provider& one, Provider& other, const Algorithm& algorithm);

// A hybrid KEM against its parts, put together as RFC 10024 says.
struct HybridParts {
  std::string_view hybrid;
  std::string_view kem;
  std::string_view agreement;
  bool kem_first;
};
const HybridParts* parts_of(std::string_view hybrid);  // null: not a hybrid
Result<void> check_hybrid(Provider& provider, const HybridParts& parts, Provider& kem_provider,
                          Provider& agreement_provider);

}  // namespace pqedge::measure
