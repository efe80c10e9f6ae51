#include "measure/load/pacing.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace pqedge::measure::load {
namespace {

TEST(LoadPacing, NothingIsDueBeforeItsTime) {
  Schedule schedule(1'000, 1e6, false);
  EXPECT_EQ(schedule.take(999), kNever);
  EXPECT_EQ(schedule.take(1'000), 1'000u);
  EXPECT_EQ(schedule.take(1'000), kNever);
  EXPECT_EQ(schedule.next(), 2'000u);
}

TEST(LoadPacing, AStallDoesNotMoveTheAppointedTimes) {
  // 1,000 a second, and nobody looks for 50 ms: all 50 are still there, at their own times.
  Schedule schedule(0, 1'000, false);
  std::vector<Nanos> taken;
  for (Nanos t = schedule.take(50 * kMillisecond - 1); t != kNever;
       t = schedule.take(50 * kMillisecond - 1)) {
    taken.push_back(t);
  }
  ASSERT_EQ(taken.size(), 50u);
  for (size_t i = 0; i < taken.size(); ++i) EXPECT_EQ(taken[i], i * kMillisecond);
}

TEST(LoadPacing, AnUnevenGapDoesNotDrift) {
  // A third of a nanosecond is lost with each gap, if gaps are what is added up.
  Schedule schedule(0, 3e8, false);
  uint64_t count = 0;
  while (schedule.take(kSecond / 100 - 1) != kNever) ++count;
  EXPECT_EQ(count, 3'000'000u);
}

TEST(LoadPacing, PoissonKeepsTheRateAndSpreadsTheGaps) {
  Schedule schedule(0, 10'000, true);
  std::vector<double> gaps;
  Nanos last = 0;
  for (int i = 0; i < 200'000; ++i) {
    const Nanos t = schedule.take(kNever - 1);
    gaps.push_back(static_cast<double>(t - last));
    last = t;
  }
  double mean = 0;
  for (const double gap : gaps) mean += gap / static_cast<double>(gaps.size());
  double variance = 0;
  for (const double gap : gaps) {
    variance += (gap - mean) * (gap - mean) / static_cast<double>(gaps.size());
  }
  EXPECT_NEAR(mean, 1e5, 1e3);
  EXPECT_NEAR(std::sqrt(variance) / mean, 1, 0.02);  // of an exponential distribution: 1
}

}  // namespace
}  // namespace pqedge::measure::load
