#include "measure/host/withhold.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace pqedge::measure {
namespace {

TEST(HostWithhold, QuietHost) {
  NoiseFacts noise;
  noise.steal_percent = 0.2;
  noise.core_steal_percent = 1;  // at the limit, not above
  noise.load_before = 2;
  noise.others_percent = 3;
  noise.spread_percent = 1.5;
  noise.frequency_change_percent = 0;
  noise.involuntary_switches = 5000;  // told, never a reason
  EXPECT_FALSE(withhold_run(noise, 2));
}

struct Case {
  const char* name;
  NoiseFacts noise;
  std::string reason;
};

TEST(HostWithhold, EachLimitHasItsReason) {
  const std::vector<Case> cases = {
      {"steal", {.steal_percent = 1.26}, "steal 1.3 %, above 1 %"},
      {"core steal", {.core_steal_percent = 12.5}, "steal of the pinned core 12.5 %, above 1 %"},
      {"load", {.load_before = 2.31}, "load before the run 2.31, above 2"},
      {"others", {.others_percent = 30}, "CPU time of other processes 30.0 %, above 10 %"},
      {"quota", {.throttled_percent = 40}, "throttled by a CPU quota 40.0 %, above 1 %"},
      {"spread", {.spread_percent = 20}, "spread of the reference loop 20.0 %, above 5 %"},
      {"frequency", {.frequency_change_percent = 11.1}, "change of frequency 11.1 %, above 5 %"},
      {"unread", {.unknown = {"steal_percent"}}, "steal_percent could not be read"},
  };
  for (const Case& c : cases) {
    const auto withheld = withhold_run(c.noise, 2);
    ASSERT_TRUE(withheld) << c.name;
    EXPECT_EQ(withheld->reason, c.reason);
  }
}

TEST(HostWithhold, AllReasonsAreTold) {
  const auto withheld = withhold_run({.steal_percent = 2, .spread_percent = 6}, 4);
  ASSERT_TRUE(withheld);
  EXPECT_EQ(withheld->reason,
            "steal 2.0 %, above 1 %; spread of the reference loop 6.0 %, above 5 %");
}

TEST(HostWithhold, OfManyMarksTheQuartilesDecide) {
  EXPECT_FALSE(withhold_run({.spread_percent = 40, .quartile_spread_percent = 1.2}, 2));
  const auto withheld = withhold_run({.spread_percent = 40, .quartile_spread_percent = 9}, 2);
  ASSERT_TRUE(withheld);
  EXPECT_EQ(withheld->reason,
            "spread of the reference loop between its quartiles 9.0 %, above 5 %");
}

TEST(HostWithhold, ASuiteBesideADisturbedMark) {
  EXPECT_FALSE(withhold_between(104, 96, 100));
  const auto after = withhold_between(100, 123, 100);
  ASSERT_TRUE(after);
  EXPECT_EQ(after->reason,
            "the reference loop right after it is +23.0 % from the run's median, more than 5 %");
  const auto before = withhold_between(90, 100, 100);
  ASSERT_TRUE(before);
  EXPECT_NE(before->reason.find("right before it is -10.0 %"), std::string::npos);
}

TEST(HostWithhold, OwnLoadDoesNotCount) {
  EXPECT_FALSE(withhold_run({.load_before = 1.6, .load_own = 0.9}, 1));
  EXPECT_TRUE(withhold_run({.load_before = 1.6, .load_own = 0.5}, 1));
}

TEST(HostWithhold, LoadAfterIsNoReason) {
  EXPECT_FALSE(withhold_run({.load_after = 9, .unknown = {"load_after"}}, 1));
}

TEST(HostWithhold, LimitsCanBeOthers) {
  const NoiseFacts noise{.steal_percent = 2};
  EXPECT_FALSE(withhold_run(noise, 2, {.steal_percent = 3}));
  EXPECT_TRUE(withhold_run(noise, 2, {.steal_percent = 1.5}));
}

std::vector<double> around(double value, size_t n, double sigma, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::lognormal_distribution<double> distribution(0, sigma);
  std::vector<double> samples;
  for (size_t i = 0; i < n; ++i) samples.push_back(value * distribution(random));
  return samples;
}

TEST(HostWithhold, RowThatChangedBeneathItsLoop) {
  std::vector<double> samples = around(100, 500, 0.05, 1);
  EXPECT_FALSE(withhold_row(samples));
  for (const double x : around(130, 500, 0.05, 2)) samples.push_back(x);
  const auto withheld = withhold_row(samples);
  ASSERT_TRUE(withheld);
  EXPECT_NE(withheld->reason.find("second half's median"), std::string::npos);
}

TEST(HostWithhold, RowThatVariesByItselfStays) {
  // As RSA key generation does: few samples, wide apart.
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    EXPECT_FALSE(withhold_row(around(300'000, 24, 0.6, seed))) << seed;
  }
}

TEST(HostWithhold, TooFewToTell) {
  EXPECT_FALSE(withhold_row(std::vector<double>{1, 1, 1, 1, 9, 9, 9, 9}));
}

}  // namespace
}  // namespace pqedge::measure
