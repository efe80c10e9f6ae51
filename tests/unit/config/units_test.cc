#include "config/units.h"

#include <gtest/gtest.h>

#include "base/problem.h"

namespace pqedge::config {
namespace {

TEST(ConfigUnits, Durations) {
  EXPECT_EQ(parse_duration("500ms"), 500 * kMillisecond);
  EXPECT_EQ(parse_duration("10s"), 10 * kSecond);
  EXPECT_EQ(parse_duration("5m"), 300 * kSecond);
  EXPECT_EQ(parse_duration("1h"), 3600 * kSecond);
  EXPECT_EQ(parse_duration("2d"), 172'800 * kSecond);
  EXPECT_EQ(parse_duration("7us"), 7 * kMicrosecond);
  EXPECT_EQ(parse_duration("0s"), 0u);
  for (const char* bad : {"", "s", "10", "10 s", " 10s", "10s ", "-1s", "+1s", "1.5s", "10S",
                          "1h30m", "99999999999999999999s", "9999999999999d", "10sec"}) {
    EXPECT_FALSE(parse_duration(bad).has_value()) << bad;
  }
}

TEST(ConfigUnits, Sizes) {
  EXPECT_EQ(parse_size("0"), 0u);
  EXPECT_EQ(parse_size("17B"), 17u);
  EXPECT_EQ(parse_size("64KiB"), 65536u);
  EXPECT_EQ(parse_size("1MiB"), 1048576u);
  EXPECT_EQ(parse_size("16GiB"), 17179869184u);
  EXPECT_EQ(parse_size("10KB"), 10'000u);
  EXPECT_EQ(parse_size("10MB"), 10'000'000u);
  EXPECT_EQ(parse_size("1GB"), 1'000'000'000u);
  for (const char* bad : {"", "KiB", "1 KiB", "1K", "1kib", "-1", "1.5MiB", "99999999999GiB"}) {
    EXPECT_FALSE(parse_size(bad).has_value()) << bad;
  }
}

TEST(ConfigUnits, TextsAreReadBackAsTheSame) {
  for (const Nanos d : {Nanos{0}, kMicrosecond, 1500 * kMillisecond, kSecond, 90 * kSecond,
                        3600 * kSecond, 86400 * kSecond}) {
    EXPECT_EQ(parse_duration(duration_text(d)), d) << duration_text(d);
  }
  for (const uint64_t s :
       {0ul, 1ul, 1000ul, 1024ul, 65536ul, 1048576ul, 1073741824ul, 1073741825ul}) {
    EXPECT_EQ(parse_size(size_text(s)), s) << size_text(s);
  }
}

}  // namespace
}  // namespace pqedge::config
