// What the CPU itself answers: cryptographic libraries ask it, not the kernel's files.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace pqedge::measure {

// As /proc/cpuinfo spells them, only those whose registers the kernel saves too (XCR0). Empty on
// other architectures than x86-64.
std::vector<std::string> cpuid_features();

// The 12 characters of leaf 0x40000000 ("KVMKVMKVM", "Microsoft Hv"); none without the hypervisor
// bit.
std::optional<std::string> cpuid_hypervisor();

}  // namespace pqedge::measure
