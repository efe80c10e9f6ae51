// IPv4, ICMP and TCP as the emulator cuts and answers them.
#include "measure/link/packet.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "unit/measure/link_support.h"

namespace pqedge::measure::link {
namespace {

TEST(LinkPacket, ChecksumIsThatOfRfc1071) {
  // RFC 1071 3: 00 01 f2 03 f4 f5 f6 f7 add up to ddf2.
  EXPECT_EQ(checksum(as_bytes(from_hex("0001f203f4f5f6f7").value())),
            static_cast<uint16_t>(~0xddf2));
  EXPECT_EQ(checksum(as_bytes(from_hex("0001f2").value())), static_cast<uint16_t>(~0xf201));
}

TEST(LinkPacket, FragmentsCarryAllBytesInTheirPlaces) {
  const Packet whole = udp_packet(3000, false);
  const auto pieces = fragment(whole, 1280);
  ASSERT_EQ(pieces.size(), 3U);
  Packet payload;
  for (size_t i = 0; i < pieces.size(); ++i) {
    EXPECT_LE(pieces[i].size(), 1280U);
    const auto ip = parse_ipv4(pieces[i]);
    ASSERT_TRUE(ip);
    EXPECT_TRUE(ip->fragment());
    EXPECT_EQ(ip->more_fragments, i + 1 < pieces.size());
    EXPECT_EQ(ip->offset, payload.size());
    EXPECT_EQ(checksum(Bytes(pieces[i]).first(20)), 0);
    payload.insert(payload.end(), pieces[i].begin() + 20, pieces[i].end());
  }
  EXPECT_EQ(payload, Packet(whole.begin() + 20, whole.end()));
}

TEST(LinkPacket, TooBigSaysTheMtuToTheSender) {
  const Packet whole = udp_packet(1480, true);
  const Packet answer = too_big_message(whole, 1400);
  const auto ip = parse_ipv4(answer);
  ASSERT_TRUE(ip);
  EXPECT_EQ(ip->protocol, 1);
  EXPECT_TRUE(std::equal(answer.begin() + 16, answer.begin() + 20, whole.begin() + 12));
  EXPECT_EQ(answer[20], 3);
  EXPECT_EQ(answer[21], 4);
  EXPECT_EQ(load_be16(&answer[26]), 1400);
  EXPECT_EQ(checksum(Bytes(answer).subspan(20)), 0);
  EXPECT_TRUE(std::equal(answer.begin() + 28, answer.end(), whole.begin()));
  EXPECT_LE(answer.size(), 576U);  // RFC 1812 4.3.2.3
}

TEST(LinkPacket, SplitSegmentsAreValidAndTogetherTheSame) {
  const Packet whole = tcp_segment(1000, "0123456789", kTcpAck | kTcpPush);
  const auto [one, two] = split_segment(whole, 4);
  const auto first = parse_tcp(one);
  const auto second = parse_tcp(two);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(as_text(Bytes(one).subspan(first->payload_at)), "0123");
  EXPECT_EQ(as_text(Bytes(two).subspan(second->payload_at)), "456789");
  EXPECT_EQ(first->sequence, 1000U);
  EXPECT_EQ(second->sequence, 1004U);
  EXPECT_EQ(first->flags, kTcpAck);
  EXPECT_EQ(second->flags, kTcpAck | kTcpPush);
  for (const Packet& piece : {one, two}) {
    EXPECT_EQ(checksum(Bytes(piece).first(20)), 0);
    EXPECT_EQ(tcp_checksum(piece), 0);
  }
}

TEST(LinkPacket, AResetFitsTheSegmentItAnswers) {
  const Packet whole = tcp_segment(1000, "hello", kTcpAck);
  const Packet answer = reset_for(whole);
  const auto tcp = parse_tcp(answer);
  ASSERT_TRUE(tcp);
  EXPECT_EQ(tcp->flags, kTcpReset | kTcpAck);
  EXPECT_EQ(tcp->sequence, 77U);  // what the sender has acknowledged
  EXPECT_EQ(tcp->acknowledged, 1005U);
  EXPECT_EQ(tcp_checksum(answer), 0);
}

TEST(LinkPacket, NothingElseIsTaken) {
  EXPECT_FALSE(parse_ipv4({}));
  const Packet good = tcp_segment(1, "abc", 0);
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(parse_tcp(Bytes(good).first(size)));
  }
  Packet v6 = good;
  v6[0] = 0x60;
  EXPECT_FALSE(parse_ipv4(v6));
}

}  // namespace
}  // namespace pqedge::measure::link
