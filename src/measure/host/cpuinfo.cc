#include "measure/host/cpuinfo.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <format>

#include "base/text.h"

namespace pqedge::measure {

namespace {

// MIDR_EL1's implementer and part, as Linux names them in arch/arm64/include/asm/cputype.h.
struct ArmCore {
  uint32_t implementer, part;
  std::string_view name;
};
constexpr std::array kArmCores = {
    ArmCore{0x41, 0xd03, "Arm Cortex-A53"},    ArmCore{0x41, 0xd05, "Arm Cortex-A55"},
    ArmCore{0x41, 0xd07, "Arm Cortex-A57"},    ArmCore{0x41, 0xd08, "Arm Cortex-A72"},
    ArmCore{0x41, 0xd09, "Arm Cortex-A73"},    ArmCore{0x41, 0xd0a, "Arm Cortex-A75"},
    ArmCore{0x41, 0xd0b, "Arm Cortex-A76"},    ArmCore{0x41, 0xd0c, "Arm Neoverse-N1"},
    ArmCore{0x41, 0xd0d, "Arm Cortex-A77"},    ArmCore{0x41, 0xd40, "Arm Neoverse-V1"},
    ArmCore{0x41, 0xd41, "Arm Cortex-A78"},    ArmCore{0x41, 0xd44, "Arm Cortex-X1"},
    ArmCore{0x41, 0xd46, "Arm Cortex-A510"},   ArmCore{0x41, 0xd47, "Arm Cortex-A710"},
    ArmCore{0x41, 0xd48, "Arm Cortex-X2"},     ArmCore{0x41, 0xd49, "Arm Neoverse-N2"},
    ArmCore{0x41, 0xd4f, "Arm Neoverse-V2"},   ArmCore{0x41, 0xd80, "Arm Cortex-A520"},
    ArmCore{0x41, 0xd81, "Arm Cortex-A720"},   ArmCore{0x41, 0xd84, "Arm Neoverse-V3"},
    ArmCore{0x41, 0xd8e, "Arm Neoverse-N3"},   ArmCore{0x48, 0xd01, "HiSilicon TSV110"},
    ArmCore{0x61, 0x022, "Apple M1 Icestorm"}, ArmCore{0x61, 0x023, "Apple M1 Firestorm"},
    ArmCore{0x61, 0x032, "Apple M2 Blizzard"}, ArmCore{0x61, 0x033, "Apple M2 Avalanche"},
    ArmCore{0xc0, 0xac3, "Ampere-1"},          ArmCore{0xc0, 0xac4, "Ampere-1A"},
};

uint32_t hex_number(std::string_view text) {
  if (text.starts_with("0x")) text.remove_prefix(2);
  uint32_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return value;
}

// Takes the text up to the next blank line off the front.
std::string_view next_block(std::string_view& rest) {
  const size_t end = rest.find("\n\n");
  const std::string_view block = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 2);
  return block;
}

}  // namespace

std::string_view cpuinfo_block(std::string_view cpuinfo, int core) {
  const std::string wanted = std::to_string(core);
  std::string_view first;
  while (!cpuinfo.empty()) {
    const std::string_view block = next_block(cpuinfo);
    if (first.empty()) first = block;
    if (cpuinfo_value(block, "processor") == wanted) return block;
  }
  return first;
}

std::string_view cpuinfo_value(std::string_view block, std::string_view key) {
  while (!block.empty()) {
    const size_t end = block.find('\n');
    const std::string_view line = block.substr(0, end);
    block.remove_prefix(end == std::string_view::npos ? block.size() : end + 1);
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos || trim_ows(line.substr(0, colon)) != key) continue;
    return trim_ows(line.substr(colon + 1));
  }
  return {};
}

unsigned cpuinfo_cores(std::string_view cpuinfo) {
  unsigned cores = 0;
  while (!cpuinfo.empty()) {
    if (!cpuinfo_value(next_block(cpuinfo), "processor").empty()) ++cores;
  }
  return cores;
}

std::string arm_model(std::string_view block) {
  const std::string_view implementer = cpuinfo_value(block, "CPU implementer");
  const std::string_view part = cpuinfo_value(block, "CPU part");
  if (implementer.empty() || part.empty()) return {};
  for (const ArmCore& core : kArmCores) {
    if (core.implementer == hex_number(implementer) && core.part == hex_number(part)) {
      return std::string(core.name);
    }
  }
  return std::format("implementer {}, part {}", implementer, part);
}

}  // namespace pqedge::measure
