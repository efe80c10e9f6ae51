#include "measure/host/cpuid.h"

#if defined(__x86_64__)
#include <cpuid.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>
#endif

namespace pqedge::measure {

#if defined(__x86_64__)

namespace {

struct Leaf {
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Leaf leaf(uint32_t number, uint32_t sub = 0) {
  Leaf l;
  __get_cpuid_count(number, sub, &l.eax, &l.ebx, &l.ecx, &l.edx);
  return l;
}

enum Register : uint8_t { kLeaf1Ecx, kLeaf1Edx, kLeaf7Ebx, kLeaf7Ecx, kLeaf7Sub1Eax };

// Which registers the kernel saves and restores: without that an instruction must not be used,
// whatever the CPU could do (Intel SDM volume 1, 13.3).
enum class Saved : uint8_t { none, ymm, zmm };

struct Feature {
  std::string_view name;
  Register where;
  unsigned bit;
  Saved needs;
};

// Intel SDM volume 2, CPUID.
constexpr std::array kFeatures = {
    Feature{"sse2", kLeaf1Edx, 26, Saved::none},
    Feature{"pclmulqdq", kLeaf1Ecx, 1, Saved::none},
    Feature{"ssse3", kLeaf1Ecx, 9, Saved::none},
    Feature{"sse4_1", kLeaf1Ecx, 19, Saved::none},
    Feature{"sse4_2", kLeaf1Ecx, 20, Saved::none},
    Feature{"movbe", kLeaf1Ecx, 22, Saved::none},
    Feature{"aes", kLeaf1Ecx, 25, Saved::none},
    Feature{"avx", kLeaf1Ecx, 28, Saved::ymm},
    Feature{"rdrand", kLeaf1Ecx, 30, Saved::none},
    Feature{"bmi1", kLeaf7Ebx, 3, Saved::none},
    Feature{"avx2", kLeaf7Ebx, 5, Saved::ymm},
    Feature{"bmi2", kLeaf7Ebx, 8, Saved::none},
    Feature{"avx512f", kLeaf7Ebx, 16, Saved::zmm},
    Feature{"avx512dq", kLeaf7Ebx, 17, Saved::zmm},
    Feature{"rdseed", kLeaf7Ebx, 18, Saved::none},
    Feature{"adx", kLeaf7Ebx, 19, Saved::none},
    Feature{"avx512ifma", kLeaf7Ebx, 21, Saved::zmm},
    Feature{"sha_ni", kLeaf7Ebx, 29, Saved::none},
    Feature{"avx512bw", kLeaf7Ebx, 30, Saved::zmm},
    Feature{"avx512vl", kLeaf7Ebx, 31, Saved::zmm},
    Feature{"avx512vbmi", kLeaf7Ecx, 1, Saved::zmm},
    Feature{"avx512_vbmi2", kLeaf7Ecx, 6, Saved::zmm},
    Feature{"gfni", kLeaf7Ecx, 8, Saved::none},
    Feature{"vaes", kLeaf7Ecx, 9, Saved::ymm},
    Feature{"vpclmulqdq", kLeaf7Ecx, 10, Saved::ymm},
    Feature{"sha512", kLeaf7Sub1Eax, 0, Saved::ymm},
    Feature{"avx_ifma", kLeaf7Sub1Eax, 23, Saved::ymm},
};

Saved saved_registers(const Leaf& one) {
  constexpr uint32_t kOsxsave = 1u << 27;
  if ((one.ecx & kOsxsave) == 0) return Saved::none;
  uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  constexpr uint32_t kYmm = 0x06, kZmm = 0xe6;
  if ((low & kZmm) == kZmm) return Saved::zmm;
  return (low & kYmm) == kYmm ? Saved::ymm : Saved::none;
}

}  // namespace

std::vector<std::string> cpuid_features() {
  const Leaf one = leaf(1);
  const Leaf seven = leaf(7);
  const std::array registers{one.ecx, one.edx, seven.ebx, seven.ecx,
                             seven.eax >= 1 ? leaf(7, 1).eax : 0};
  const Saved saved = saved_registers(one);
  std::vector<std::string> names;
  for (const Feature& feature : kFeatures) {
    const bool present = (registers[feature.where] >> feature.bit & 1) != 0;
    if (present && saved >= feature.needs) names.emplace_back(feature.name);
  }
  return names;
}

std::optional<std::string> cpuid_hypervisor() {
  constexpr uint32_t kHypervisor = 1u << 31;
  if ((leaf(1).ecx & kHypervisor) == 0) return std::nullopt;
  Leaf l;
  // Not by __get_cpuid: the highest basic leaf does not count for this range.
  __cpuid(0x40000000, l.eax, l.ebx, l.ecx, l.edx);
  std::array<char, 12> name{};
  std::memcpy(name.data(), &l.ebx, 4);
  std::memcpy(name.data() + 4, &l.ecx, 4);
  std::memcpy(name.data() + 8, &l.edx, 4);
  std::string text(name.data(), name.size());
  text.resize(std::min(text.find('\0'), text.size()));
  return text;
}

#else

std::vector<std::string> cpuid_features() { return {}; }
std::optional<std::string> cpuid_hypervisor() { return std::nullopt; }

#endif

}  // namespace pqedge::measure
