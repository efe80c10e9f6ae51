// Signed certificate timestamps (RFC 6962 3.2). They are synthetic: every field has its right
// length and the signature is random, since only a log could make a true one. Random bytes do not
// compress, as true signatures do not.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "measure/chain/algorithm.h"

namespace pqedge::measure {

// A SignedCertificateTimestampList (RFC 6962 3.3) of `count` timestamps.
Result<std::vector<uint8_t>> make_sct_list(unsigned count, const ChainAlgorithm& log_algorithm);

}  // namespace pqedge::measure
