// SSH up to NEWKEYS, where it leaves the clear.
#pragma once

#include "base/result.h"
#include "measure/live/options.h"
#include "measure/record/record.h"

namespace pqedge::measure::live {

// Fills `record`. The error's message is for a person; record.outcome says it shortly.
Result<void> ssh_handshake(const Options& options, LiveRecord& record);

}  // namespace pqedge::measure::live
