// TLS 1.3 over TCP, through a BIO of our own that counts and reads every byte.
#pragma once

#include "base/result.h"
#include "measure/live/options.h"
#include "measure/record/record.h"

namespace pqedge::measure::live {

// Fills `record`. The error's message is for a person; record.outcome says it shortly.
Result<void> tls_handshake(const Options& options, LiveRecord& record);

}  // namespace pqedge::measure::live
