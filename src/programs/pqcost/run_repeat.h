// What several runs on one host say together (M9).
#pragma once

#include <span>
#include <string>

#include "measure/record/record.h"

namespace pqedge::pqcost {

// Median and range of each suite over the runs that are not withheld; from fewer than 7 of them
// each run on its own, with its date.
std::string repeat_view(std::span<const measure::Record> records);

}  // namespace pqedge::pqcost
