// TLS 1.3 over QUIC version 1, datagram by datagram: every one is counted and read by ourselves.
#pragma once

#include "base/result.h"
#include "measure/live/options.h"
#include "measure/record/record.h"

namespace pqedge::measure::live {

// Fills `record`. The error's message is for a person; record.outcome says it shortly.
Result<void> quic_handshake(const Options& options, LiveRecord& record);

}  // namespace pqedge::measure::live
