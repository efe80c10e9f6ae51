#include "measure/host/facts.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "measure/host/cpuid.h"
#include "measure/host/cpuinfo.h"
#include "unit/measure/host_fixture.h"

namespace pqedge::measure {
namespace {

using Strings = std::vector<std::string>;

TEST(HostFacts, VirtualBoxGuestOnIntel) {
  const FixtureHost fixture(virtualbox_intel());
  const HostFacts host = host_facts(fixture.files());
  EXPECT_EQ(host.cpu.model, "Intel(R) Core(TM) i5-6267U CPU @ 2.90GHz");
  EXPECT_EQ(host.cpu.architecture, "x86_64");
  EXPECT_EQ(host.cpu.features, (Strings{"sse2", "ssse3", "sse4_1", "sse4_2", "avx", "aes",
                                        "pclmulqdq", "movbe", "rdrand", "rdseed"}));
  EXPECT_EQ(host.cpu.logical_cores, 2u);
  EXPECT_FALSE(host.cpu.smt);  // nothing there tells
  EXPECT_FALSE(host.cpu.governor);
  EXPECT_EQ(host.virtualization, "oracle");
  EXPECT_EQ(host.name, "oracle-vm");
  EXPECT_EQ(host.kernel, "4.1.12-61.1.28.el6uek.x86_64");
  EXPECT_EQ(host.distribution, "Oracle Linux 6.9");
  EXPECT_EQ(core_mhz(fixture.files(), 1), 2903.998);
}

TEST(HostFacts, AmdServer) {
  const FixtureHost fixture(bare_amd());
  const HostFacts host = host_facts(fixture.files(), 2, "bench");
  EXPECT_EQ(host.cpu.model, "AMD EPYC 9354P 32-Core Processor");
  EXPECT_EQ(host.cpu.logical_cores, 4u);
  EXPECT_EQ(host.cpu.smt, true);
  EXPECT_EQ(host.cpu.governor, "schedutil");
  EXPECT_TRUE(std::ranges::contains(host.cpu.features, "vaes"));
  EXPECT_TRUE(std::ranges::contains(host.cpu.features, "avx512ifma"));
  EXPECT_EQ(host.virtualization, "none");
  EXPECT_EQ(host.name, "bench");
  EXPECT_EQ(host.distribution, "Debian GNU/Linux 13 (trixie)");
  EXPECT_EQ(core_mhz(fixture.files(), 2), 3250);    // cpufreq
  EXPECT_EQ(core_mhz(fixture.files(), 3), 1503.5);  // cpuinfo, its own block
}

TEST(HostFacts, Graviton) {
  const FixtureHost fixture(graviton3());
  const HostFacts host = host_facts(fixture.files(), 1);
  EXPECT_EQ(host.cpu.model, "Arm Neoverse-V1");
  EXPECT_EQ(host.cpu.architecture, "aarch64");
  EXPECT_EQ(host.cpu.features,
            (Strings{"aes", "asimd", "asimdrdm", "asimddp", "i8mm", "pmull", "sha1", "sha2",
                     "sha512", "sha3", "sve", "rng", "crc32", "atomics", "dit"}));
  EXPECT_FALSE(host.cpu.smt);  // of core 1 nothing is told
  EXPECT_EQ(cpu_facts(fixture.files(), 0).smt, false);
  EXPECT_EQ(host.virtualization, "amazon");
  EXPECT_FALSE(core_mhz(fixture.files(), 0));
}

TEST(HostFacts, AmazonsWholeMachines) {
  auto files = graviton3();
  files["/sys/class/dmi/id/product_name"] = "c7g.metal\n";
  const FixtureHost fixture(files);
  EXPECT_EQ(virtualization(fixture.files()), "none");
}

TEST(HostFacts, RaspberryPi) {
  const FixtureHost fixture(raspberry_pi());
  const HostFacts host = host_facts(fixture.files());
  EXPECT_EQ(host.cpu.model, "Arm Cortex-A72");
  EXPECT_EQ(host.cpu.features, (Strings{"asimd", "crc32"}));
  EXPECT_EQ(host.cpu.logical_cores, 1u);
  EXPECT_EQ(host.cpu.governor, "ondemand");
  EXPECT_FALSE(host.virtualization);  // no DMI, no sign of a hypervisor: it cannot be told
  EXPECT_EQ(core_mhz(fixture.files(), 0), 600);
  EXPECT_EQ(fixture.files().line("/proc/device-tree/model"), "Raspberry Pi 4 Model B Rev 1.1");
}

TEST(HostFacts, CoresThatAreNotInTheTableKeepTheirNumbers) {
  EXPECT_EQ(arm_model("CPU implementer\t: 0x41\nCPU part\t: 0xfff\n"),
            "implementer 0x41, part 0xfff");
  EXPECT_EQ(arm_model("CPU implementer\t: 0x41\nCPU part\t: 0xd0c\n"), "Arm Neoverse-N1");
  EXPECT_EQ(arm_model("processor\t: 0\n"), "");
}

TEST(HostFacts, Hypervisors) {
  auto files = virtualbox_intel();
  files["/sys/class/dmi/id/sys_vendor"] = "QEMU\n";
  files["/sys/class/dmi/id/product_name"] = "Standard PC (Q35 + ICH9, 2009)\n";
  EXPECT_EQ(virtualization(FixtureHost(files).files()), "kvm");  // by its clock
  files["/sys/devices/system/clocksource/clocksource0/available_clocksource"] = "tsc hpet \n";
  EXPECT_EQ(virtualization(FixtureHost(files).files()), "qemu");
  files["/sys/class/dmi/id/sys_vendor"] = "Microsoft Corporation\n";
  files["/sys/class/dmi/id/product_name"] = "Virtual Machine\n";
  EXPECT_EQ(virtualization(FixtureHost(files).files()), "microsoft");
  files["/sys/class/dmi/id/sys_vendor"] = "Unheard Of\n";
  files["/sys/class/dmi/id/product_name"] = "Thing\n";
  EXPECT_EQ(virtualization(FixtureHost(files).files()), "unknown hypervisor");
  files["/sys/hypervisor/type"] = "xen\n";
  EXPECT_EQ(virtualization(FixtureHost(files).files()), "xen");
}

TEST(HostFacts, IdIsStableAndTellsNothing) {
  const auto files = bare_amd();
  const FixtureHost here(files), again(files);
  const CpuFacts cpu = cpu_facts(here.files());
  const std::string id = host_id(here.files(), cpu);
  EXPECT_EQ(id, host_id(again.files(), cpu));
  EXPECT_EQ(id.size(), 32u);
  EXPECT_EQ(id.find("89abcdef"), std::string::npos);
  // HMAC-SHA256, key "89abcdef0123456789abcdef01234567", first 16 bytes; by Python's hmac module.
  EXPECT_EQ(id, "dc8e283fda6f564460fc125aaada543d");
  auto other = files;
  other["/etc/machine-id"] = "79abcdef0123456789abcdef01234567\n";
  EXPECT_NE(id, host_id(FixtureHost(other).files(), cpu));
  CpuFacts larger = cpu;
  larger.logical_cores = 8;
  EXPECT_NE(id, host_id(here.files(), larger));
}

TEST(HostFacts, IdWithoutAMachineId) {
  auto files = bare_amd();
  files["/etc/machine-id"] = "uninitialized\n";
  const CpuFacts cpu = cpu_facts(FixtureHost(files).files());
  const std::string by_name = host_id(FixtureHost(files).files(), cpu);
  files.erase("/etc/machine-id");
  EXPECT_EQ(by_name, host_id(FixtureHost(files).files(), cpu));
  files["/proc/sys/kernel/hostname"] = "rack8\n";
  EXPECT_NE(by_name, host_id(FixtureHost(files).files(), cpu));
}

TEST(HostFacts, OfAnEmptyFolder) {
  const HostFacts host = host_facts(FixtureHost(std::map<std::string, std::string>()).files());
  EXPECT_EQ(host.cpu.model, "");
  EXPECT_TRUE(host.cpu.features.empty());
  EXPECT_EQ(host.cpu.logical_cores, 0u);
  EXPECT_FALSE(host.virtualization);
  EXPECT_EQ(host.distribution, "");
}

TEST(HostFacts, OfThisMachine) {
  const HostFacts host = host_facts();
  EXPECT_FALSE(host.name.empty());
  EXPECT_FALSE(host.cpu.architecture.empty());
  EXPECT_FALSE(host.cpu.features.empty());
  EXPECT_GT(host.cpu.logical_cores, 0u);
  EXPECT_EQ(host.id.size(), 32u);
}

// The kernel's list is of what it and the CPU can do: nothing in it may be missing from what CPUID
// and XCR0 say.
TEST(HostFacts, CpuidHoldsWhatTheKernelLists) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "CPUID is of x86";
#endif
  const std::string cpuinfo = HostFiles().text("/proc/cpuinfo").value_or("");
  const auto listed = crypto_features(cpuinfo_value(cpuinfo_block(cpuinfo, 0), "flags"));
  const auto asked = cpuid_features();
  for (const std::string& feature : listed) {
    EXPECT_TRUE(std::ranges::contains(asked, feature)) << feature;
  }
}

}  // namespace
}  // namespace pqedge::measure
