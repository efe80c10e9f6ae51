// A live handshake in words, for a terminal.
#pragma once

#include <span>
#include <string>

#include "measure/record/record.h"

namespace pqedge::measure::live {

std::string describe(const LiveRecord& record);
// Of several handshakes of one target: outcomes, and median, least and most of each time.
std::string describe_all(std::span<const LiveRecord> records);

}  // namespace pqedge::measure::live
