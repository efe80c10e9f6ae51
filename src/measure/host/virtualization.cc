// Whether this is a virtual machine, and whose. Names are those of systemd-detect-virt(1).
#include <array>

#include "measure/host/cpuid.h"
#include "measure/host/cpuinfo.h"
#include "measure/host/facts.h"

namespace pqedge::measure {

namespace {

struct Sign {
  std::string_view text, name;
};

// How hypervisors name themselves in DMI; a prefix of the field.
constexpr std::array kDmi = {
    Sign{"KVM", "kvm"},
    Sign{"OpenStack", "kvm"},
    Sign{"KubeVirt", "kvm"},
    Sign{"Amazon EC2", "amazon"},
    Sign{"Google Compute Engine", "google"},
    Sign{"QEMU", "qemu"},
    Sign{"VMware", "vmware"},
    Sign{"VMW", "vmware"},
    Sign{"innotek GmbH", "oracle"},
    Sign{"VirtualBox", "oracle"},
    Sign{"Xen", "xen"},
    Sign{"Bochs", "bochs"},
    Sign{"Parallels", "parallels"},
    Sign{"BHYVE", "bhyve"},
    Sign{"Hyper-V", "microsoft"},
    Sign{"Virtual Machine", "microsoft"},
    Sign{"Apple Virtualization", "apple"},
};

// Of CPUID leaf 0x40000000.
constexpr std::array kCpuid = {
    Sign{"KVMKVMKVM", "kvm"},       Sign{"Linux KVM Hv", "kvm"},       Sign{"TCGTCGTCGTCG", "qemu"},
    Sign{"VMwareVMware", "vmware"}, Sign{"Microsoft Hv", "microsoft"}, Sign{"XenVMMXenVMM", "xen"},
    Sign{"bhyve bhyve ", "bhyve"},  Sign{"QNXQVMBSQG", "qnx"},         Sign{"ACRNACRNACRN", "acrn"},
    Sign{"VBoxVBoxVBox", "oracle"},
};

// Clocks that only a guest has.
constexpr std::array kClocks = {
    Sign{"kvm-clock", "kvm"},
    Sign{"hyperv_clocksource", "microsoft"},
    Sign{"xen", "xen"},
};

// /proc/device-tree/hypervisor/compatible.
constexpr std::array kDeviceTree = {
    Sign{"linux,kvm", "kvm"},
    Sign{"xen", "xen"},
    Sign{"vmware", "vmware"},
};

template <size_t N>
std::string_view named(const std::array<Sign, N>& signs, std::string_view text) {
  for (const Sign& sign : signs) {
    if (text.starts_with(sign.text)) return sign.name;
  }
  return {};
}

std::string_view by_dmi(const HostFiles& files) {
  // Amazon's whole machines have the same vendor as its virtual ones.
  const std::string product = files.line("/sys/class/dmi/id/product_name").value_or("");
  if (product.find(".metal") != std::string::npos) return {};
  for (const char* field : {"product_name", "sys_vendor", "board_vendor", "bios_vendor"}) {
    const std::string text = files.line(std::string("/sys/class/dmi/id/") + field).value_or("");
    if (const std::string_view name = named(kDmi, text); !name.empty()) return name;
  }
  return {};
}

std::string_view by_clock(const HostFiles& files) {
  const std::string clocks =
      files.line("/sys/devices/system/clocksource/clocksource0/available_clocksource").value_or("");
  for (const Sign& sign : kClocks) {
    if (clocks.find(sign.text) != std::string::npos) return sign.name;
  }
  return {};
}

std::string_view hypervisor(const HostFiles& files) {
  const std::string_view dmi = by_dmi(files);
  if (!dmi.empty() && dmi != "qemu") return dmi;  // QEMU's own name stands under KVM too
  // Before the CPU's own answer: there are KVM guests that see another hypervisor's signature, and
  // the kernel has this clock only where it found KVM at work.
  if (const std::string_view name = by_clock(files); !name.empty()) return name;
  if (files.live()) {
    const std::string signature = cpuid_hypervisor().value_or("");
    if (const std::string_view name = named(kCpuid, signature); !name.empty()) return name;
  }
  if (files.line("/sys/hypervisor/type").value_or("") == "xen") return "xen";
  const std::string tree = files.line("/proc/device-tree/hypervisor/compatible").value_or("");
  if (const std::string_view name = named(kDeviceTree, tree); !name.empty()) return name;
  return dmi;
}

}  // namespace

std::optional<std::string> virtualization(const HostFiles& files) {
  const std::string cpuinfo = files.text("/proc/cpuinfo").value_or("");
  const std::string_view flags = cpuinfo_value(cpuinfo_block(cpuinfo, 0), "flags");
  const std::string_view name = hypervisor(files);
  if (!flags.empty()) {  // x86: the CPU has a bit that says so
    const bool guest = flags.find(" hypervisor") != std::string_view::npos;
    if (!guest) return name == "xen" ? "xen" : "none";  // a paravirtual guest may lack the bit
    return name.empty() ? "unknown hypervisor" : std::string(name);
  }
  if (!name.empty()) return std::string(name);
  if (files.line("/sys/class/dmi/id/sys_vendor")) return "none";
  return std::nullopt;
}

}  // namespace pqedge::measure
