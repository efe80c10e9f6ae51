// /proc/cpuinfo: one block a logical core, of lines "key : value". The keys differ by architecture.
#pragma once

#include <string>
#include <string_view>

namespace pqedge::measure {

// The block of a core, or the first where that core has none (some architectures tell a block for
// all); empty when there is none.
std::string_view cpuinfo_block(std::string_view cpuinfo, int core);

// The value of a key in a block, or empty.
std::string_view cpuinfo_value(std::string_view block, std::string_view key);

// Blocks with a line "processor".
unsigned cpuinfo_cores(std::string_view cpuinfo);

// "Arm Neoverse-V1" of "CPU implementer" and "CPU part" of an AArch64 block; "implementer 0x41,
// part 0xfff" for one that is not in the table.
std::string arm_model(std::string_view block);

}  // namespace pqedge::measure
