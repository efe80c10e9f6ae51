#include "wire/quic/long_header.h"

#include "wire/quic/varint.h"

namespace pqedge::quic {
namespace {

constexpr size_t kMaxIdSize = 20;  // RFC 9000 17.2

bool take_id(Bytes& in, Bytes& id) {
  if (in.empty() || in[0] > kMaxIdSize || in.size() < size_t{1} + in[0]) return false;
  id = in.subspan(1, in[0]);
  in = in.subspan(size_t{1} + in[0]);
  return true;
}

// RFC 9000 17.2, RFC 9369 3.2: version 2 counts on by one.
LongType type_of(uint8_t first, uint32_t version) {
  const int bits = first >> 4 & 3;
  return static_cast<LongType>(version == kVersion2 ? (bits + 3) & 3 : bits);
}

}  // namespace

std::optional<InvariantHeader> read_invariant_header(Bytes packet) {
  if (packet.size() < 7 || !is_long_header(packet[0])) return std::nullopt;
  InvariantHeader h;
  h.version = load_be32(packet.data() + 1);
  Bytes in = packet.subspan(5);
  if (!take_id(in, h.destination) || !take_id(in, h.source)) return std::nullopt;
  return h;
}

std::optional<LongHeader> read_long_header(Bytes datagram) {
  const auto ids = read_invariant_header(datagram);
  if (!ids || (ids->version != kVersion1 && ids->version != kVersion2)) return std::nullopt;
  LongHeader h;
  h.version = ids->version;
  h.type = type_of(datagram[0], h.version);
  h.destination = ids->destination;
  h.source = ids->source;
  if (h.type == LongType::retry) {
    h.size = datagram.size();
    return h;
  }
  Bytes in = datagram.subspan(7 + h.destination.size() + h.source.size());
  uint64_t length = 0;
  if (h.type == LongType::initial) {
    if (!take_varint(in, length) || in.size() < length) return std::nullopt;
    in = in.subspan(length);  // the token
  }
  if (!take_varint(in, length) || in.size() < length) return std::nullopt;
  h.number_offset = datagram.size() - in.size();
  h.size = h.number_offset + length;
  return h;
}

}  // namespace pqedge::quic
