// What a primitive offers unless its provider says otherwise: no way in for known answers.
#include "measure/provider/primitive.h"

#include <cerrno>

namespace pqedge::measure {

std::unexpected<Error> not_offered(std::string_view why) {
  return std::unexpected(Error{std::string(why), ENOTSUP});
}

Result<std::unique_ptr<SignatureKeyPair>> Signature::from_seed(Bytes) {
  return not_offered("the library takes no seed");
}

Result<std::vector<uint8_t>> Signature::sign_deterministic(Bytes, Bytes) {
  return not_offered("the library has no deterministic signing");
}

std::unique_ptr<Aead> Provider::aead_with(std::string_view, Bytes, Bytes) { return nullptr; }

Result<std::string> Provider::nist_response(std::string_view) {
  return not_offered("the library's random source cannot be replaced");
}

}  // namespace pqedge::measure
