// Packets for the tests of the emulated link.
#pragma once

#include <algorithm>
#include <string_view>

#include "measure/link/packet.h"

namespace pqedge::measure::link {

inline Packet ip_packet(uint8_t protocol, Bytes payload, bool dont_fragment) {
  Packet packet(20);
  packet[0] = 0x45;
  packet[6] = dont_fragment ? 0x40 : 0;
  packet[8] = 64;
  packet[9] = protocol;
  const uint8_t addresses[] = {10, 77, 0, 1, 10, 77, 0, 2};
  std::ranges::copy(addresses, packet.begin() + 12);
  packet.insert(packet.end(), payload.begin(), payload.end());
  store_be16(&packet[2], static_cast<uint16_t>(packet.size()));
  store_be16(&packet[10], checksum(Bytes(packet).first(20)));
  return packet;
}

// `size` bytes behind the IP header, each different from its neighbours.
inline Packet udp_packet(size_t size, bool dont_fragment) {
  Packet payload(size);
  for (size_t i = 0; i < size; ++i) payload[i] = static_cast<uint8_t>(i * 7);
  return ip_packet(17, payload, dont_fragment);
}

inline uint16_t tcp_checksum(Bytes packet) {
  uint32_t sum = 6 + static_cast<uint32_t>(packet.size() - 20);
  for (size_t i = 12; i < 20; i += 2) sum += load_be16(&packet[i]);
  return checksum(packet.subspan(20), sum);
}

inline Packet tcp_segment(uint32_t sequence, std::string_view payload, uint8_t flags,
                          uint16_t source = 40000) {
  Packet segment(20);
  store_be16(&segment[0], source);
  store_be16(&segment[2], 443);
  store_be32(&segment[4], sequence);
  store_be32(&segment[8], 77);
  segment[12] = 0x50;
  segment[13] = flags;
  segment.insert(segment.end(), payload.begin(), payload.end());
  Packet packet = ip_packet(6, segment, true);
  store_be16(&packet[36], tcp_checksum(packet));
  return packet;
}

}  // namespace pqedge::measure::link
