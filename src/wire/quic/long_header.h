// Long headers of QUIC packets, as anyone on the path can read them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bytes.h"

namespace pqedge::quic {

inline constexpr uint32_t kVersion1 = 1;
inline constexpr uint32_t kVersion2 = 0x6b3343cf;  // RFC 9369

constexpr bool is_long_header(uint8_t first) { return (first & 0x80) != 0; }

// What every version has in common (RFC 8999 5.1).
struct InvariantHeader {
  uint32_t version = 0;  // 0: Version Negotiation
  Bytes destination;
  Bytes source;
};
// Empty: cut short, or an ID longer than the 20 bytes of versions 1 and 2.
std::optional<InvariantHeader> read_invariant_header(Bytes packet);

enum class LongType : uint8_t { initial, zero_rtt, handshake, retry };

struct LongHeader {
  uint32_t version = 0;
  LongType type{};
  Bytes destination;
  Bytes source;
  size_t number_offset = 0;  // where the packet number begins; 0 in a Retry
  size_t size = 0;           // of the whole packet: what follows is the datagram's next one
};
// The packet at the front of `datagram`. Empty: it cannot be read, or is of another version than 1
// and 2.
std::optional<LongHeader> read_long_header(Bytes datagram);

}  // namespace pqedge::quic
