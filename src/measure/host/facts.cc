#include "measure/host/facts.h"

#include <openssl/evp.h>
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <format>

#include "base/text.h"
#include "measure/host/cpuid.h"
#include "measure/host/cpuinfo.h"

namespace pqedge::measure {

namespace {

// x86-64 first, then AArch64's HWCAP names (arch/arm64/kernel/cpuinfo.c).
constexpr auto kCryptoFeatures = std::to_array<std::string_view>({
    "sse2",     "ssse3",    "sse4_1",   "sse4_2",     "avx",        "avx2",     "avx512f",
    "avx512dq", "avx512bw", "avx512vl", "avx512ifma", "avx512vbmi", "avx_ifma", "avx512_vbmi2",
    "aes",      "vaes",     "gfni",     "pclmulqdq",  "vpclmulqdq", "sha_ni",   "bmi1",
    "bmi2",     "adx",      "movbe",    "rdrand",     "rdseed",     "asimd",    "asimdrdm",
    "asimddp",  "i8mm",     "pmull",    "sha1",       "sha2",       "sha512",   "sha3",
    "sm3",      "sm4",      "sve",      "sve2",       "sveaes",     "svepmull", "svesha3",
    "rng",      "crc32",    "atomics",  "dit",
});

// Joined by blanks, as /proc/cpuinfo has them.
std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += word + " ";
  return text;
}

std::string architecture(const HostFiles& files, std::string_view cpuinfo_of_core) {
  if (auto arch = files.line("/proc/sys/kernel/arch")) return *arch;  // since Linux 6.1
  utsname name{};
  if (files.live() && uname(&name) == 0) return name.machine;
  if (!cpuinfo_value(cpuinfo_of_core, "flags").empty()) return "x86_64";
  if (!cpuinfo_value(cpuinfo_of_core, "CPU implementer").empty()) return "aarch64";
  return {};
}

// What `smt/active` says, and where the kernel knows no such control, whether a core has siblings.
std::optional<bool> smt(const HostFiles& files, int core) {
  const std::optional<std::string> control = files.line("/sys/devices/system/cpu/smt/control");
  if (control && *control != "notimplemented") {
    if (auto active = files.number("/sys/devices/system/cpu/smt/active")) return *active != 0;
  }
  const auto siblings =
      files.line(std::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", core));
  if (!siblings) return std::nullopt;
  return siblings->find_first_of(",-") != std::string::npos;
}

std::string distribution(const HostFiles& files) {
  for (const std::string_view path : {"/etc/os-release", "/usr/lib/os-release"}) {
    const std::string text = files.text(path).value_or("");
    size_t begin = 0;
    while (begin < text.size()) {
      const size_t end = std::min(text.find('\n', begin), text.size());
      std::string_view line = std::string_view(text).substr(begin, end - begin);
      begin = end + 1;
      constexpr std::string_view kKey = "PRETTY_NAME=";
      if (!line.starts_with(kKey)) continue;
      line.remove_prefix(kKey.size());
      if (line.size() >= 2 && (line.front() == '"' || line.front() == '\'')) {
        line = line.substr(1, line.size() - 2);
      }
      return std::string(line);
    }
  }
  return {};
}

std::string host_name(const HostFiles& files) {
  return files.line("/proc/sys/kernel/hostname").value_or("");
}

}  // namespace

std::vector<std::string> crypto_features(std::string_view words) {
  std::vector<std::string_view> present;
  while (!words.empty()) {
    const size_t end = words.find(' ');
    present.push_back(words.substr(0, end));
    words.remove_prefix(end == std::string_view::npos ? words.size() : end + 1);
  }
  std::vector<std::string> features;
  for (const std::string_view feature : kCryptoFeatures) {
    if (std::ranges::contains(present, feature)) features.emplace_back(feature);
  }
  return features;
}

std::optional<double> core_mhz(const HostFiles& files, int core) {
  const auto khz =
      files.number(std::format("/sys/devices/system/cpu/cpu{}/cpufreq/scaling_cur_freq", core));
  if (khz) return *khz / 1000;
  const std::string cpuinfo = files.text("/proc/cpuinfo").value_or("");
  const std::string_view mhz = cpuinfo_value(cpuinfo_block(cpuinfo, core), "cpu MHz");
  if (mhz.empty()) return std::nullopt;
  return std::strtod(std::string(mhz).c_str(), nullptr);
}

CpuFacts cpu_facts(const HostFiles& files, int core) {
  const std::string cpuinfo = files.text("/proc/cpuinfo").value_or("");
  const std::string_view block = cpuinfo_block(cpuinfo, core);
  CpuFacts cpu;
  cpu.model = cpuinfo_value(block, "model name");
  if (cpu.model.empty()) cpu.model = arm_model(block);
  cpu.architecture = architecture(files, block);
  // A library asks the CPU; the kernel's list may lack what it was told to hide.
  if (files.live()) cpu.features = crypto_features(joined(cpuid_features()));
  if (cpu.features.empty()) {
    const std::string_view flags = cpuinfo_value(block, "flags");
    cpu.features = crypto_features(flags.empty() ? cpuinfo_value(block, "Features") : flags);
  }
  cpu.logical_cores = cpuinfo_cores(cpuinfo);
  cpu.smt = smt(files, core);
  cpu.governor =
      files.line(std::format("/sys/devices/system/cpu/cpu{}/cpufreq/scaling_governor", core));
  return cpu;
}

HostFacts host_facts(const HostFiles& files, int core, std::string name) {
  HostFacts host;
  host.cpu = cpu_facts(files, core);
  host.name = name.empty() ? host_name(files) : std::move(name);
  host.id = host_id(files, host.cpu);
  host.kernel = files.line("/proc/sys/kernel/osrelease").value_or("");
  host.distribution = distribution(files);
  host.virtualization = virtualization(files);
  return host;
}

std::string host_id(const HostFiles& files, const CpuFacts& cpu) {
  // machine-id(5): "uninitialized" stands there until the first boot is over.
  std::string key = files.line("/etc/machine-id").value_or("");
  if (key.empty() || key == "uninitialized") key = host_name(files);
  const std::string text =
      std::format("pqcost host 1\n{}\n{}\n{}\n", cpu.architecture, cpu.model, cpu.logical_cores);
  std::array<uint8_t, EVP_MAX_MD_SIZE> digest{};
  size_t length = 0;
  const uint8_t* made =
      EVP_Q_mac(nullptr, "HMAC", nullptr, "SHA256", nullptr, key.data(), key.size(),
                as_bytes(text).data(), text.size(), digest.data(), digest.size(), &length);
  if (made == nullptr || length < 16) return {};
  return to_hex(Bytes(digest).first(16));
}

}  // namespace pqedge::measure
