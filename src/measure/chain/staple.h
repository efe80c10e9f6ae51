// An OCSP response that says "good" for one certificate, signed by its issuer (RFC 6960 4.2).
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "crypto/handles.h"

namespace pqedge::measure {

// DER of an OCSPResponse without certificates: the issuer itself is the responder.
Result<std::vector<uint8_t>> make_staple(X509* certificate, X509* issuer, EVP_PKEY* issuer_key,
                                         const EVP_MD* digest);

}  // namespace pqedge::measure
