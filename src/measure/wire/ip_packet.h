// How a UDP datagram travels in IP packets of a limited size.
#pragma once

#include <cstddef>
#include <string_view>

namespace pqedge::measure {

struct PathLimit {
  size_t packet = 0;  // the largest IP packet
  bool ipv6 = false;
  std::string_view name;
};

// RFC 7383 2.5.1 suggests the first two where the path is not known; the third is Ethernet's.
inline constexpr PathLimit kPathLimits[] = {
    {576, false, "IPv4 packets of at most 576 bytes"},
    {1280, true, "IPv6 packets of at most 1,280 bytes"},
    {1500, false, "IPv4 packets of at most 1,500 bytes"},
};

constexpr size_t kUdpHeader = 8;
constexpr size_t ip_header(const PathLimit& limit) { return limit.ipv6 ? 40 : 20; }

struct IpPackets {
  size_t bytes = 0;  // of all packets, their headers included
  unsigned count = 0;
};

// Of a datagram with `message` bytes, cut by IP itself where it must be (RFC 791 3.2, RFC 8200 4.5:
// the parts but the last are multiples of 8, and IPv6 adds a header of 8 to each).
constexpr IpPackets ip_packets(size_t message, const PathLimit& limit) {
  const size_t datagram = kUdpHeader + message;
  const size_t header = ip_header(limit);
  if (header + datagram <= limit.packet) return {header + datagram, 1};
  const size_t each = header + (limit.ipv6 ? 8 : 0);
  const size_t room = (limit.packet - each) / 8 * 8;
  const size_t count = (datagram + room - 1) / room;
  return {datagram + count * each, static_cast<unsigned>(count)};
}

}  // namespace pqedge::measure
