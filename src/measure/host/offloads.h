// What a network interface does instead of the kernel, by ethtool's ioctl. It needs no privilege.
#pragma once

#include <map>
#include <string>

namespace pqedge::measure {

// "on" or "off" by ethtool's names; what the driver does not tell is left out.
std::map<std::string, std::string> offloads(const std::string& interface);

}  // namespace pqedge::measure
