// wolfSSL's primitives. Its headers define names that OpenSSL's define too: they are included only
// in wolfssl_*.cc, and nothing of them is here.
#pragma once

#include <memory>
#include <string_view>

#include "measure/provider/primitive.h"

namespace pqedge::measure::wolf {

// wolfCrypt's codes are negative; 0 is success.
Result<void> check(int code, std::string_view what);

// Null: not offered by this build of wolfSSL.
std::unique_ptr<KeyAgreement> make_agreement(std::string_view algorithm);
std::unique_ptr<Signature> make_signature(std::string_view algorithm);
std::unique_ptr<Aead> make_aead(std::string_view algorithm, Bytes key, Bytes iv);

}  // namespace pqedge::measure::wolf
