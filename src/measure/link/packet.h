// IPv4 and TCP as the emulator needs them: looked into, cut, and answered (RFC 791, 792, 9293).
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/bytes.h"

namespace pqedge::measure::link {

using Packet = std::vector<uint8_t>;

struct Ipv4 {
  size_t header = 0;  // bytes
  uint8_t protocol = 0;
  bool dont_fragment = false;
  bool more_fragments = false;
  size_t offset = 0;  // of a fragment, bytes
  bool fragment() const { return more_fragments || offset != 0; }
};
// None for anything that is not a whole IPv4 packet.
std::optional<Ipv4> parse_ipv4(Bytes packet);

struct Tcp {
  size_t payload_at = 0;  // in the packet
  size_t payload = 0;     // bytes
  uint32_t sequence = 0;
  uint32_t acknowledged = 0;
  uint8_t flags = 0;
  uint64_t ports = 0;  // both, for a key
};
inline constexpr uint8_t kTcpFin = 0x01;
inline constexpr uint8_t kTcpSyn = 0x02;
inline constexpr uint8_t kTcpReset = 0x04;
inline constexpr uint8_t kTcpPush = 0x08;
inline constexpr uint8_t kTcpAck = 0x10;
// None for anything but an unfragmented TCP segment.
std::optional<Tcp> parse_tcp(Bytes packet);

// RFC 1071.
uint16_t checksum(Bytes bytes, uint32_t sum = 0);

// Cut to fit `mtu` (RFC 791 3.2). The packet must allow it; `mtu` is at least 68.
std::vector<Packet> fragment(Bytes packet, size_t mtu);

// Destination unreachable, fragmentation needed, with the next hop's MTU (RFC 1191 4), from the
// packet's destination to its source: an emulated router has no address of its own.
Packet too_big_message(Bytes packet, size_t mtu);

// The segment as two, the first with `first` bytes of payload (0 < first < payload).
std::pair<Packet, Packet> split_segment(Bytes packet, size_t first);

// A reset to the sender of a segment, as if from its receiver.
Packet reset_for(Bytes packet);

}  // namespace pqedge::measure::link
