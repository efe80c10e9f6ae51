// What the record says of the machine (M10), read from the files in which it describes itself.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "measure/host/files.h"
#include "measure/record/record.h"

namespace pqedge::measure {

// `core` is the one whose governor is told, and whose frequency the noise monitor watches.
// mhz_before and mhz_after stay absent: NoiseMonitor measures them.
CpuFacts cpu_facts(const HostFiles& files = HostFiles(), int core = 0);

// Without a name the host's own is taken.
HostFacts host_facts(const HostFiles& files = HostFiles(), int core = 0, std::string name = {});

// The features that cryptographic code looks for, spelt as the kernel spells them in /proc/cpuinfo
// ("avx2", "sha_ni", "asimd"), of the words of its line `flags` or `Features`, in a fixed order.
std::vector<std::string> crypto_features(std::string_view words);

// "none", the hypervisor's name, "unknown hypervisor", or nothing where it cannot be told.
std::optional<std::string> virtualization(const HostFiles& files);

// 32 hexadecimal digits that are equal for all runs on one host and say nothing else about it: a
// keyed hash over the machine ID (machine-id(5) says that the ID itself must not be shown), the
// architecture, the CPU model and the number of cores. Machines copied from one image with their
// machine ID, on equal hardware, cannot be told apart.
std::string host_id(const HostFiles& files, const CpuFacts& cpu);

// The core's frequency now, in MHz: of cpufreq, else of /proc/cpuinfo.
std::optional<double> core_mhz(const HostFiles& files, int core);

}  // namespace pqedge::measure
