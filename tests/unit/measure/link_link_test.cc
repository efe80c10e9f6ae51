// The link's core: time is given, chance is seeded.
#include "measure/link/link.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/text.h"
#include "unit/measure/link_support.h"

namespace pqedge::measure::link {
namespace {

struct Arrival {
  Nanos when;
  uint16_t number;
};

Packet numbered(uint16_t number, size_t size = 100) {
  Packet packet = udp_packet(size, true);
  store_be16(&packet[20], number);
  return packet;
}

// Offers `count` packets `gap` apart, and takes each when it is due.
std::vector<Arrival> run(Link& link, uint16_t count, Nanos gap, size_t size = 100) {
  std::vector<Arrival> arrivals;
  const auto take_until = [&](Nanos end) {
    while (link.next() <= end) {
      const Nanos now = link.next();
      while (const auto delivery = link.take(now)) {
        arrivals.push_back({delivery->due, load_be16(&delivery->packet[20])});
      }
    }
  };
  for (uint16_t i = 0; i < count; ++i) {
    take_until(i * gap);
    link.offer(numbered(i, size), i * gap);
  }
  take_until(kNever - 1);
  return arrivals;
}

TEST(Link, DelaysExactly) {
  Link link({.delay = 20 * kMillisecond}, 1, 1);
  link.offer(numbered(1), 5);
  EXPECT_EQ(link.next(), 5 + 20 * kMillisecond);
  EXPECT_FALSE(link.take(4 + 20 * kMillisecond));
  EXPECT_TRUE(link.take(5 + 20 * kMillisecond));
  EXPECT_EQ(link.next(), kNever);
}

std::vector<uint16_t> survivors(uint64_t seed, uint64_t direction, Nanos gap) {
  Link link({.loss = 0.3, .duplicate = 0.1}, seed, direction);
  std::vector<uint16_t> numbers;
  for (const Arrival& arrival : run(link, 500, gap)) numbers.push_back(arrival.number);
  return numbers;
}

TEST(Link, OneSeedGivesOneFateWhateverTheTimes) {
  EXPECT_EQ(survivors(7, 1, kMillisecond), survivors(7, 1, 17 * kMicrosecond));
  EXPECT_NE(survivors(7, 1, kMillisecond), survivors(8, 1, kMillisecond));
  EXPECT_NE(survivors(7, 1, kMillisecond), survivors(7, 2, kMillisecond));
}

TEST(Link, ChancesComeTrueAsOftenAsAsked) {
  // Of 20,000 packets: four standard deviations of the binomial on each side.
  Link link({.loss = 0.05, .duplicate = 0.02, .reorder = 0.1}, 3, 1);
  const auto arrivals = run(link, 20000, kMillisecond);
  const Counters& c = link.counters();
  EXPECT_EQ(c.offered, 20000U);
  EXPECT_NEAR(static_cast<double>(c.lost), 1000, 4 * 30.8);
  EXPECT_NEAR(static_cast<double>(c.duplicated), 19000 * 0.02, 4 * 19.3);
  EXPECT_NEAR(static_cast<double>(c.reordered), 19000 * 0.1, 4 * 41.4);
  EXPECT_EQ(arrivals.size(), 20000 - c.lost + c.duplicated);
  EXPECT_EQ(c.delivered, arrivals.size());
}

TEST(Link, NothingIsLostWithoutChance) {
  Link link({}, 1, 1);
  EXPECT_EQ(run(link, 1000, 1).size(), 1000U);
}

TEST(Link, JitterKeepsTheOrder) {
  Link link({.delay = kMillisecond, .jitter = 10 * kMillisecond}, 1, 1);
  const auto arrivals = run(link, 2000, 100 * kMicrosecond);
  ASSERT_EQ(arrivals.size(), 2000U);
  Nanos most = 0;
  for (size_t i = 0; i < arrivals.size(); ++i) {
    EXPECT_EQ(arrivals[i].number, i);
    const Nanos late = arrivals[i].when - i * 100 * kMicrosecond;
    EXPECT_GE(late, kMillisecond);
    EXPECT_LT(late, 11 * kMillisecond);
    most = std::max(most, late);
  }
  EXPECT_GT(most, 9 * kMillisecond);
}

TEST(Link, ReorderedPacketsAreOvertaken) {
  Link link({.reorder = 0.2, .reorder_by = 5 * kMillisecond}, 1, 1);
  const auto arrivals = run(link, 200, kMillisecond);
  ASSERT_EQ(arrivals.size(), 200U);
  size_t held = 0;
  size_t overtaken = 0;
  for (size_t i = 0; i < arrivals.size(); ++i) {
    const Nanos late = arrivals[i].when - arrivals[i].number * kMillisecond;
    ASSERT_TRUE(late == 0 || late == 5 * kMillisecond);
    held += late != 0 ? 1 : 0;
    overtaken += i > 0 && arrivals[i].number < arrivals[i - 1].number ? 1 : 0;
  }
  EXPECT_EQ(held, link.counters().reordered);
  EXPECT_GT(overtaken, 10U);
}

TEST(Link, RateSpacesPackets) {
  // 1,000 bytes at 8 Mbit/s are a millisecond.
  Link link({.rate = 8'000'000}, 1, 1);
  for (uint16_t i = 0; i < 10; ++i) link.offer(numbered(i, 980), 0);
  for (uint64_t i = 1; i <= 10; ++i) {
    ASSERT_EQ(link.next(), i * kMillisecond);
    link.take(link.next());
  }
  // An idle link saves up nothing.
  link.offer(numbered(11, 980), kSecond);
  EXPECT_EQ(link.next(), kSecond + kMillisecond);
}

TEST(Link, AFullQueueDrops) {
  Link link({.rate = 8'000'000, .queue = 3000}, 1, 1);
  for (uint16_t i = 0; i < 5; ++i) link.offer(numbered(i, 980), 0);
  EXPECT_EQ(link.counters().overflowed, 2U);
  link.offer(numbered(6, 980), 2 * kMillisecond);  // two have left
  EXPECT_EQ(link.counters().overflowed, 2U);
}

TEST(Link, TooLargeIsToldOrCutOrSwallowed) {
  Link told({.mtu = 1280}, 1, 1);
  told.offer(udp_packet(1400, true), 0);
  EXPECT_EQ(told.next(), kNever);
  const auto answer = told.take_answer();
  ASSERT_TRUE(answer);
  EXPECT_EQ(load_be16(&(*answer)[26]), 1280);
  EXPECT_FALSE(told.take_answer());
  told.offer(udp_packet(1400, false), 0);  // may be cut
  EXPECT_TRUE(told.take(0));
  EXPECT_TRUE(told.take(0));
  EXPECT_FALSE(told.take(0));

  Link hole({.mtu = 1280, .too_big_messages = false}, 1, 1);
  hole.offer(udp_packet(1400, true), 0);
  EXPECT_FALSE(hole.take_answer());
  EXPECT_EQ(hole.counters().too_big, 1U);
}

TEST(Link, FragmentsCanBeDropped) {
  Link link({.mtu = 1280, .fragments = false}, 1, 1);
  link.offer(udp_packet(1400, false), 0);
  for (const Packet& piece : fragment(udp_packet(2000, false), 1000)) link.offer(piece, 0);
  link.offer(udp_packet(1000, false), 0);
  EXPECT_TRUE(link.take(0));
  EXPECT_FALSE(link.take(0));
  EXPECT_EQ(link.counters().fragments_dropped, 2U + 3U);
}

// ---- middleboxes ----

// A ClientHello's record of `size` bytes, header included.
std::string hello(size_t size) {
  std::string record(size, 'h');
  record[0] = 22;
  record[1] = 3;
  record[2] = 1;
  store_be16(reinterpret_cast<uint8_t*>(&record[3]), static_cast<uint16_t>(size - 5));
  record[5] = 1;
  return record;
}

std::vector<std::string> payloads(Link& link, Nanos now) {
  std::vector<std::string> out;
  while (const auto delivery = link.take(now)) {
    const auto tcp = parse_tcp(delivery->packet);
    out.emplace_back(as_text(Bytes(delivery->packet).subspan(tcp->payload_at)));
  }
  return out;
}

TEST(LinkMiddlebox, SplitsTheHelloAndNothingElse) {
  Link link({.middlebox = Middlebox::kSplit, .middlebox_bytes = 10}, 1, 1);
  const std::string record = hello(60);
  link.offer(tcp_segment(100, record, kTcpAck), 0);
  link.offer(tcp_segment(160, "\x16\x03 later data", kTcpAck), 0);
  EXPECT_EQ(payloads(link, 0), (std::vector<std::string>{record.substr(0, 10), record.substr(10),
                                                         "\x16\x03 later data"}));
}

TEST(LinkMiddlebox, DelaysWhatGoesOnWithAHello) {
  Link link({.middlebox = Middlebox::kDelay, .middlebox_delay = kMillisecond}, 1, 1);
  const std::string record = hello(1500);
  link.offer(tcp_segment(100, record.substr(0, 1000), kTcpAck), 0);
  link.offer(tcp_segment(1100, record.substr(1000), kTcpAck), 0);
  EXPECT_EQ(payloads(link, 0).size(), 1U);
  EXPECT_EQ(link.next(), kMillisecond);
  EXPECT_EQ(payloads(link, kMillisecond).size(), 1U);
  link.offer(tcp_segment(1600, "finished", kTcpAck), 0);
  EXPECT_EQ(payloads(link, kMillisecond).size(), 1U);
  // A small hello is not touched.
  link.offer(tcp_segment(9, hello(300), kTcpAck, 40001), 2 * kMillisecond);
  EXPECT_EQ(payloads(link, 2 * kMillisecond).size(), 1U);
}

TEST(LinkMiddlebox, DropsLargeHellosAndWhatFollows) {
  Link link({.middlebox = Middlebox::kDrop, .middlebox_bytes = 1400}, 1, 1);
  const std::string record = hello(1500);
  link.offer(tcp_segment(99, "", kTcpSyn), 0);
  link.offer(tcp_segment(100, record.substr(0, 1448), kTcpAck), 0);
  link.offer(tcp_segment(1548, record.substr(1448), kTcpAck), 0);
  link.offer(tcp_segment(100, record.substr(0, 1448), kTcpAck), kSecond);  // sent again
  EXPECT_EQ(link.counters().middlebox_dropped, 3U);
  EXPECT_EQ(payloads(link, kSecond), std::vector<std::string>{""});  // the SYN
  EXPECT_FALSE(link.take_answer());
  link.offer(tcp_segment(5, hello(400), kTcpAck, 40001), kSecond);
  EXPECT_EQ(payloads(link, kSecond).size(), 1U);
}

TEST(LinkMiddlebox, ResetsAHelloThatIsNotWhole) {
  Link link({.middlebox = Middlebox::kWhole}, 1, 1);
  link.offer(tcp_segment(100, hello(1500).substr(0, 1448), kTcpAck), 0);
  EXPECT_EQ(link.next(), kNever);
  const auto answer = link.take_answer();
  ASSERT_TRUE(answer);
  EXPECT_EQ(parse_tcp(*answer)->flags, kTcpReset | kTcpAck);
  link.offer(tcp_segment(5, hello(400), kTcpAck, 40001), 0);
  EXPECT_EQ(payloads(link, 0).size(), 1U);
}

}  // namespace
}  // namespace pqedge::measure::link
