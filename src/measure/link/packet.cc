#include "measure/link/packet.h"

#include <algorithm>

namespace pqedge::measure::link {

namespace {

constexpr uint8_t kIcmp = 1;
constexpr uint8_t kTcp = 6;
constexpr uint16_t kDontFragment = 0x4000;
constexpr uint16_t kMoreFragments = 0x2000;
constexpr size_t kHeader = 20;

void set_header_checksum(Packet& packet, size_t header) {
  store_be16(&packet[10], 0);
  store_be16(&packet[10], checksum(Bytes(packet).first(header)));
}

// Over the pseudo-header and the segment (RFC 9293 3.1).
void set_tcp_checksum(Packet& packet, size_t header) {
  const size_t size = packet.size() - header;
  uint32_t sum = kTcp + static_cast<uint32_t>(size);
  for (size_t i = 12; i < 20; i += 2) sum += load_be16(&packet[i]);
  store_be16(&packet[header + 16], 0);
  store_be16(&packet[header + 16], checksum(Bytes(packet).subspan(header), sum));
}

// An IPv4 header back to the sender of `packet`.
Packet answer_header(Bytes packet, uint8_t protocol, size_t payload) {
  Packet answer(kHeader + payload);
  answer[0] = 0x45;
  store_be16(&answer[2], static_cast<uint16_t>(answer.size()));
  answer[8] = 64;  // time to live
  answer[9] = protocol;
  std::copy_n(packet.begin() + 16, 4, answer.begin() + 12);
  std::copy_n(packet.begin() + 12, 4, answer.begin() + 16);
  set_header_checksum(answer, kHeader);
  return answer;
}

}  // namespace

uint16_t checksum(Bytes bytes, uint32_t sum) {
  for (size_t i = 0; i + 1 < bytes.size(); i += 2) sum += load_be16(&bytes[i]);
  if (bytes.size() % 2 != 0) sum += uint32_t{bytes.back()} << 8;
  while (sum >> 16 != 0) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

std::optional<Ipv4> parse_ipv4(Bytes packet) {
  if (packet.size() < kHeader || packet[0] >> 4 != 4) return std::nullopt;
  Ipv4 ip;
  ip.header = size_t{4} * (packet[0] & 0x0f);
  const size_t total = load_be16(&packet[2]);
  if (ip.header < kHeader || total != packet.size() || total < ip.header) return std::nullopt;
  const uint16_t flags = load_be16(&packet[6]);
  ip.dont_fragment = (flags & kDontFragment) != 0;
  ip.more_fragments = (flags & kMoreFragments) != 0;
  ip.offset = size_t{8} * (flags & 0x1fff);
  ip.protocol = packet[9];
  return ip;
}

std::optional<Tcp> parse_tcp(Bytes packet) {
  const auto ip = parse_ipv4(packet);
  if (!ip || ip->protocol != kTcp || ip->fragment()) return std::nullopt;
  const Bytes segment = packet.subspan(ip->header);
  if (segment.size() < 20) return std::nullopt;
  const size_t header = size_t{4} * (segment[12] >> 4);
  if (header < 20 || header > segment.size()) return std::nullopt;
  Tcp tcp;
  tcp.ports = load_be32(segment.data());
  tcp.sequence = load_be32(&segment[4]);
  tcp.acknowledged = load_be32(&segment[8]);
  tcp.flags = segment[13];
  tcp.payload_at = ip->header + header;
  tcp.payload = segment.size() - header;
  return tcp;
}

std::vector<Packet> fragment(Bytes packet, size_t mtu) {
  const auto ip = parse_ipv4(packet);
  if (!ip || packet.size() <= mtu) return {Packet(packet.begin(), packet.end())};
  const size_t room = (mtu - ip->header) / 8 * 8;
  const Bytes payload = packet.subspan(ip->header);
  std::vector<Packet> out;
  for (size_t at = 0; at < payload.size(); at += room) {
    const Bytes part = payload.subspan(at, std::min(room, payload.size() - at));
    const bool last = at + part.size() == payload.size();
    Packet piece(packet.begin(), packet.begin() + static_cast<std::ptrdiff_t>(ip->header));
    piece.insert(piece.end(), part.begin(), part.end());
    store_be16(&piece[2], static_cast<uint16_t>(piece.size()));
    const bool more = !last || ip->more_fragments;
    store_be16(&piece[6], static_cast<uint16_t>((more ? kMoreFragments : 0) |
                                                ((ip->offset + at) / 8 & 0x1fff)));
    set_header_checksum(piece, ip->header);
    out.push_back(std::move(piece));
  }
  return out;
}

Packet too_big_message(Bytes packet, size_t mtu) {
  // The header and 8 bytes more (RFC 792), or all that a host may want (RFC 1812 4.3.2.3).
  const Bytes quoted = packet.first(std::min(packet.size(), size_t{548}));
  Packet answer = answer_header(packet, kIcmp, 8 + quoted.size());
  uint8_t* icmp = &answer[kHeader];
  icmp[0] = 3;  // destination unreachable
  icmp[1] = 4;  // fragmentation needed and DF set
  store_be16(icmp + 6, static_cast<uint16_t>(mtu));
  std::ranges::copy(quoted, icmp + 8);
  store_be16(icmp + 2, checksum(Bytes(answer).subspan(kHeader)));
  return answer;
}

std::pair<Packet, Packet> split_segment(Bytes packet, size_t first) {
  const auto ip = parse_ipv4(packet);
  const auto tcp = parse_tcp(packet);
  const auto at = static_cast<std::ptrdiff_t>(tcp->payload_at);
  const auto cut = at + static_cast<std::ptrdiff_t>(first);
  Packet one(packet.begin(), packet.begin() + cut);
  Packet two(packet.begin(), packet.begin() + at);
  two.insert(two.end(), packet.begin() + cut, packet.end());
  one[ip->header + 13] &= static_cast<uint8_t>(~(kTcpFin | kTcpPush));
  store_be32(&two[ip->header + 4], tcp->sequence + static_cast<uint32_t>(first));
  for (Packet* piece : {&one, &two}) {
    store_be16(&(*piece)[2], static_cast<uint16_t>(piece->size()));
    set_header_checksum(*piece, ip->header);
    set_tcp_checksum(*piece, ip->header);
  }
  return {std::move(one), std::move(two)};
}

Packet reset_for(Bytes packet) {
  const auto ip = parse_ipv4(packet);
  const auto tcp = parse_tcp(packet);
  Packet answer = answer_header(packet, kTcp, 20);
  uint8_t* out = &answer[kHeader];
  const uint8_t* in = &packet[ip->header];
  std::copy_n(in + 2, 2, out);
  std::copy_n(in, 2, out + 2);
  store_be32(out + 4, tcp->acknowledged);
  const bool counted = (tcp->flags & (kTcpSyn | kTcpFin)) != 0;
  store_be32(out + 8, tcp->sequence + static_cast<uint32_t>(tcp->payload) + (counted ? 1 : 0));
  out[12] = 0x50;
  out[13] = kTcpReset | kTcpAck;
  set_tcp_checksum(answer, kHeader);
  return answer;
}

}  // namespace pqedge::measure::link
