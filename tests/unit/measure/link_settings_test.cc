#include "measure/link/settings.h"

#include <gtest/gtest.h>

namespace pqedge::measure::link {
namespace {

TEST(LinkSettings, ReadsBothDirectionsAndOne) {
  const auto settings = parse_settings(
      "delay=20ms, jitter=300us,loss=1%,down.loss=0.05,reorder=2%:5ms,duplicate=0.1%,"
      "up.rate=10mbit,queue=32k,mtu=1400,icmp=drop,fragments=drop,seed=7");
  ASSERT_TRUE(settings) << settings.error().message;
  EXPECT_EQ(settings->up.delay, 20 * kMillisecond);
  EXPECT_EQ(settings->down.delay, 20 * kMillisecond);
  EXPECT_EQ(settings->up.jitter, 300 * kMicrosecond);
  EXPECT_DOUBLE_EQ(settings->up.loss, 0.01);
  EXPECT_DOUBLE_EQ(settings->down.loss, 0.05);
  EXPECT_DOUBLE_EQ(settings->up.reorder, 0.02);
  EXPECT_EQ(settings->up.reorder_by, 5 * kMillisecond);
  EXPECT_DOUBLE_EQ(settings->up.duplicate, 0.001);
  EXPECT_EQ(settings->up.rate, 10'000'000U);
  EXPECT_EQ(settings->down.rate, 0U);
  EXPECT_EQ(settings->up.queue, 32U * 1024);
  EXPECT_EQ(settings->down.mtu, 1400U);
  EXPECT_FALSE(settings->up.too_big_messages);
  EXPECT_FALSE(settings->down.fragments);
  EXPECT_EQ(settings->seed, 7U);
}

TEST(LinkSettings, AMiddleboxStandsWhereTheClientSends) {
  const auto settings = parse_settings("middlebox=split:100");
  ASSERT_TRUE(settings);
  EXPECT_EQ(settings->up.middlebox, Middlebox::kSplit);
  EXPECT_EQ(settings->up.middlebox_bytes, 100U);
  EXPECT_EQ(settings->down.middlebox, Middlebox::kNone);
  const auto delay = parse_settings("middlebox=delay:1.5s");
  ASSERT_TRUE(delay);
  EXPECT_EQ(delay->up.middlebox_delay, 1500 * kMillisecond);
}

TEST(LinkSettings, DescribesWhatItReads) {
  const char* text = "delay=20ms,up.loss=1%,down.middlebox=whole,icmp=drop,mtu=1280,seed=3";
  const auto settings = parse_settings(text);
  ASSERT_TRUE(settings);
  const auto described = describe(*settings);
  EXPECT_EQ(described.at("delay"), "20ms");
  EXPECT_EQ(described.at("up.loss"), "1%");
  EXPECT_EQ(described.at("down.middlebox"), "whole");
  std::string again;
  for (const auto& [name, value] : described) again += name + "=" + value + ",";
  EXPECT_EQ(parse_settings(again).value(), *settings);
}

TEST(LinkSettings, RefusesWithTheMemberThatIsWrong) {
  for (const char* bad :
       {"delay", "delay=20", "delay=-1ms", "loss=101%", "loss=2", "rate=fast", "mtu=67",
        "mtu=65536", "icmp=maybe", "middlebox=split", "middlebox=split:0", "middlebox=whole:1",
        "middlebox=eat", "seed=x", "queue=0", "left.loss=1%"}) {
    const auto settings = parse_settings(bad);
    ASSERT_FALSE(settings) << bad;
    EXPECT_NE(settings.error().message.find(bad), std::string::npos) << settings.error().message;
  }
  EXPECT_NE(parse_settings("dealy=1ms").error().message.find("delay"), std::string::npos);
}

}  // namespace
}  // namespace pqedge::measure::link
