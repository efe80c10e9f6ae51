#include "measure/host/network.h"

#include <arpa/inet.h>
#include <net/if.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <set>

#include "measure/host/files.h"
#include "measure/host/netlink.h"
#include "measure/host/offloads.h"

namespace pqedge::measure {

namespace {

template <typename Struct>
Bytes bytes_of(const Struct& value) {
  return {reinterpret_cast<const uint8_t*>(&value), sizeof value};
}

struct Destination {
  uint8_t family = 0;
  std::array<uint8_t, 16> address{};
  size_t length = 0;
};

Result<Destination> parse(const std::string& text) {
  Destination to;
  if (inet_pton(AF_INET, text.c_str(), to.address.data()) == 1) {
    to.family = AF_INET;
    to.length = 4;
  } else if (inet_pton(AF_INET6, text.c_str(), to.address.data()) == 1) {
    to.family = AF_INET6;
    to.length = 16;
  } else {
    return fail("'{}' is not an IP address", text);
  }
  return to;
}

// The attributes behind a message's fixed part.
Bytes attributes_after(Bytes payload, size_t fixed) {
  return payload.subspan(std::min(payload.size(), NLMSG_ALIGN(fixed)));
}

std::string interface_name(uint32_t index) {
  std::array<char, IF_NAMESIZE> name{};
  return if_indextoname(index, name.data()) == nullptr ? "" : name.data();
}

Result<std::string> qdisc_of(unsigned index) {
  ifinfomsg header{};
  header.ifi_index = static_cast<int>(index);
  std::string qdisc;
  auto asked = ask_kernel(
      NetlinkRequest(RTM_GETLINK, 0, bytes_of(header)), [&](uint16_t type, Bytes payload) {
        if (type != RTM_NEWLINK) return;
        qdisc = attribute_text(attributes_after(payload, sizeof(ifinfomsg)), IFLA_QDISC);
      });
  if (!asked) return std::unexpected(asked.error());
  return qdisc;
}

// The windows of all routes of the main table over an interface.
Result<std::set<unsigned>> windows_over(unsigned index) {
  rtmsg header{};
  std::set<unsigned> windows;
  const NetlinkRequest request(RTM_GETROUTE, NLM_F_DUMP, bytes_of(header));
  auto asked = ask_kernel(request, [&](uint16_t type, Bytes payload) {
    if (type != RTM_NEWROUTE || payload.size() < sizeof(rtmsg)) return;
    rtmsg route;
    std::memcpy(&route, payload.data(), sizeof route);
    const Bytes attributes = attributes_after(payload, sizeof route);
    if (route.rtm_table != RT_TABLE_MAIN || attribute_u32(attributes, RTA_OIF) != index) return;
    const Bytes metrics = attribute(attributes, RTA_METRICS).value_or(Bytes());
    windows.insert(attribute_u32(metrics, RTAX_INITCWND).value_or(kLinuxInitialWindow));
  });
  if (!asked) return std::unexpected(asked.error());
  return windows;
}

std::string system_congestion_control() {
  return HostFiles().line("/proc/sys/net/ipv4/tcp_congestion_control").value_or("");
}

Result<NetworkFacts> facts_of_link(const std::string& interface, unsigned index) {
  NetworkFacts facts;
  facts.congestion_control = system_congestion_control();
  const auto qdisc = qdisc_of(index);
  if (!qdisc) return std::unexpected(qdisc.error());
  facts.qdisc = *qdisc;
  facts.offloads = offloads(interface);
  return facts;
}

Result<unsigned> index_of(const std::string& interface) {
  const unsigned index = if_nametoindex(interface.c_str());
  if (index == 0) return fail_errno(errno, "there is no network interface '{}'", interface);
  return index;
}

}  // namespace

Result<RouteFacts> route_to(const std::string& address) {
  const auto to = parse(address);
  if (!to) return std::unexpected(to.error());
  rtmsg header{};
  header.rtm_family = to->family;
  header.rtm_dst_len = static_cast<unsigned char>(8 * to->length);
  NetlinkRequest request(RTM_GETROUTE, 0, bytes_of(header));
  request.add(RTA_DST, Bytes(to->address).first(to->length));
  RouteFacts route;
  auto asked = ask_kernel(request, [&](uint16_t type, Bytes payload) {
    if (type != RTM_NEWROUTE) return;
    const Bytes attributes = attributes_after(payload, sizeof(rtmsg));
    if (const auto index = attribute_u32(attributes, RTA_OIF)) {
      route.interface = interface_name(*index);
    }
    const Bytes metrics = attribute(attributes, RTA_METRICS).value_or(Bytes());
    route.mtu = attribute_u32(metrics, RTAX_MTU);
    route.initial_window = attribute_u32(metrics, RTAX_INITCWND);
    route.congestion_control = attribute_text(metrics, RTAX_CC_ALGO);
  });
  if (!asked) {
    return std::unexpected(
        Error{"no route to " + address + ": " + asked.error().message, asked.error().code});
  }
  if (route.interface.empty()) return fail("no interface leads to {}", address);
  return route;
}

Result<NetworkFacts> network_facts(const std::string& interface) {
  const auto index = index_of(interface);
  if (!index) return std::unexpected(index.error());
  auto facts = facts_of_link(interface, *index);
  if (!facts) return facts;
  const auto windows = windows_over(*index);
  if (!windows) return std::unexpected(windows.error());
  if (windows->empty()) facts->initial_window = kLinuxInitialWindow;
  if (windows->size() == 1) facts->initial_window = *windows->begin();
  return facts;
}

Result<NetworkFacts> network_facts_to(const std::string& address) {
  const auto route = route_to(address);
  if (!route) return std::unexpected(route.error());
  const auto index = index_of(route->interface);
  if (!index) return std::unexpected(index.error());
  auto facts = facts_of_link(route->interface, *index);
  if (!facts) return facts;
  facts->initial_window = route->initial_window.value_or(kLinuxInitialWindow);
  if (!route->congestion_control.empty()) facts->congestion_control = route->congestion_control;
  return facts;
}

}  // namespace pqedge::measure
