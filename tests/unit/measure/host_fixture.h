// The files of other machines, as far as pqcost reads them, in a folder of their own.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "measure/host/files.h"

namespace pqedge::measure {

class FixtureHost {
 public:
  explicit FixtureHost(const std::map<std::string, std::string>& files) {
    std::string name = (std::filesystem::temp_directory_path() / "pqcost-host-XXXXXX").string();
    root_ = mkdtemp(name.data());
    for (const auto& [path, text] : files) write(path, text);
  }
  ~FixtureHost() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  FixtureHost(const FixtureHost&) = delete;
  FixtureHost& operator=(const FixtureHost&) = delete;

  void write(const std::string& path, const std::string& text) {
    const auto at = root_ / std::filesystem::path(path).relative_path();
    std::filesystem::create_directories(at.parent_path());
    std::ofstream(at, std::ios::binary) << text;
  }
  HostFiles files() const { return HostFiles(root_); }

 private:
  std::filesystem::path root_;
};

// A VirtualBox guest on an Intel laptop: the published /proc/cpuinfo of an i5-6267U.
inline std::map<std::string, std::string> virtualbox_intel() {
  const std::string rest =
      "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 78\n"
      "model name\t: Intel(R) Core(TM) i5-6267U CPU @ 2.90GHz\nstepping\t: 3\n"
      "cpu MHz\t\t: 2903.998\ncache size\t: 4096 KB\n"
      "flags\t\t: fpu vme de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov pat pse36 clflush "
      "mmx fxsr sse sse2 ht syscall nx rdtscp lm constant_tsc rep_good nopl xtopology nonstop_tsc "
      "pni pclmulqdq ssse3 cx16 sse4_1 sse4_2 x2apic movbe popcnt aes xsave avx rdrand hypervisor "
      "lahf_lm abm 3dnowprefetch rdseed clflushopt\nbugs\t\t:\nbogomips\t: 5807.99\n\n";
  return {{"/proc/cpuinfo", "processor\t: 0\n" + rest + "processor\t: 1\n" + rest},
          {"/proc/sys/kernel/osrelease", "4.1.12-61.1.28.el6uek.x86_64\n"},
          {"/proc/sys/kernel/hostname", "oracle-vm\n"},
          {"/sys/class/dmi/id/sys_vendor", "innotek GmbH\n"},
          {"/sys/class/dmi/id/product_name", "VirtualBox\n"},
          {"/sys/devices/system/clocksource/clocksource0/available_clocksource",
           "kvm-clock tsc acpi_pm \n"},
          {"/etc/os-release", "NAME=\"Oracle Linux Server\"\nPRETTY_NAME='Oracle Linux 6.9'\n"},
          {"/etc/machine-id", "0123456789abcdef0123456789abcdef\n"}};
}

// An AMD server of this decade without a hypervisor, two threads a core.
inline std::map<std::string, std::string> bare_amd() {
  std::map<std::string, std::string> files;
  std::string cpuinfo;
  for (int core = 0; core < 4; ++core) {
    cpuinfo += "processor\t: " + std::to_string(core) +
               "\nvendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC 9354P 32-Core Processor\n"
               "cpu MHz\t\t: " +
               std::to_string(1500 + core) +
               ".500\n"
               "flags\t\t: fpu sse sse2 ht ssse3 sse4_1 sse4_2 movbe aes avx rdrand bmi1 avx2 bmi2 "
               "avx512f avx512dq rdseed adx avx512ifma sha_ni avx512bw avx512vl avx512vbmi "
               "avx512_vbmi2 gfni vaes vpclmulqdq pclmulqdq\n\n";
    files["/sys/devices/system/cpu/cpu" + std::to_string(core) + "/cpufreq/scaling_governor"] =
        "schedutil\n";
  }
  files["/proc/cpuinfo"] = cpuinfo;
  files["/sys/devices/system/cpu/smt/control"] = "on\n";
  files["/sys/devices/system/cpu/smt/active"] = "1\n";
  files["/sys/devices/system/cpu/cpu2/cpufreq/scaling_cur_freq"] = "3250000\n";
  files["/sys/class/dmi/id/sys_vendor"] = "Supermicro\n";
  files["/sys/class/dmi/id/product_name"] = "AS -1115CS-TNR\n";
  files["/proc/sys/kernel/arch"] = "x86_64\n";
  files["/proc/sys/kernel/hostname"] = "rack7\n";
  files["/etc/machine-id"] = "89abcdef0123456789abcdef01234567\n";
  files["/usr/lib/os-release"] = "PRETTY_NAME=\"Debian GNU/Linux 13 (trixie)\"\n";
  return files;
}

// An Amazon c7g.large: Graviton3.
inline std::map<std::string, std::string> graviton3() {
  std::string cpuinfo;
  for (int core = 0; core < 2; ++core) {
    cpuinfo += "processor\t: " + std::to_string(core) +
               "\nBogoMIPS\t: 2100.00\n"
               "Features\t: fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid "
               "asimdrdm jscvt fcma lrcpc dcpop sha3 asimddp sha512 sve asimdfhm dit uscat ilrcpc "
               "flagm ssbs paca pacg dcpodp svei8mm svebf16 i8mm bf16 dgh rng\n"
               "CPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x1\n"
               "CPU part\t: 0xd40\nCPU revision\t: 1\n\n";
  }
  return {{"/proc/cpuinfo", cpuinfo},
          {"/sys/devices/system/cpu/smt/control", "notimplemented\n"},
          {"/sys/devices/system/cpu/smt/active", "0\n"},
          {"/sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "0\n"},
          {"/sys/class/dmi/id/sys_vendor", "Amazon EC2\n"},
          {"/sys/class/dmi/id/product_name", "c7g.large\n"}};
}

// A Raspberry Pi 4: no DMI, a device tree.
inline std::map<std::string, std::string> raspberry_pi() {
  return {{"/proc/cpuinfo",
           "processor\t: 0\nBogoMIPS\t: 108.00\nFeatures\t: fp asimd evtstrm crc32 cpuid\n"
           "CPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x0\n"
           "CPU part\t: 0xd08\nCPU revision\t: 3\n\n"
           "Hardware\t: BCM2835\nRevision\t: c03111\nModel\t\t: Raspberry Pi 4 Model B Rev 1.1\n"},
          {"/proc/device-tree/model", std::string("Raspberry Pi 4 Model B Rev 1.1\0", 31)},
          {"/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "ondemand\n"},
          {"/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "600000\n"}};
}

}  // namespace pqedge::measure
