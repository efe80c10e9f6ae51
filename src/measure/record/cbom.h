// The record as a cryptographic bill of materials: CycloneDX 1.6 (ECMA-424), M25.
#pragma once

#include <string>

#include "measure/record/record.h"

namespace pqedge::measure {

// One cryptographic-asset component for each algorithm and provider that was measured, its cost as
// properties ("pqcost:sign:median_us"), the library as another component that it depends on.
std::string to_cyclonedx(const Record& record);

}  // namespace pqedge::measure
