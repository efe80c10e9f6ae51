// libgcrypt's KEMs and key agreements. Inside the provider only.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "measure/provider/primitive.h"

namespace pqedge::measure::libgcrypt {

Result<void> check(unsigned error, std::string_view what);

std::vector<std::string_view> kem_names();  // and key agreements
// Null: not offered.
std::unique_ptr<Kem> make_kem(std::string_view algorithm);
std::unique_ptr<KeyAgreement> make_agreement(std::string_view algorithm);

}  // namespace pqedge::measure::libgcrypt
