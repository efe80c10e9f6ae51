#include "measure/load/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace pqedge::measure::load {
namespace {

// The nearest-rank percentile of the values themselves.
Nanos exact_percentile(std::vector<Nanos> values, double percent) {
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<size_t>(
      std::max(1.0, std::ceil(static_cast<double>(values.size()) * percent / 100)));
  return values[rank - 1];
}

TEST(LoadHistogram, SaysNothingWhenEmpty) {
  const Histogram histogram;
  EXPECT_EQ(histogram.count(), 0u);
  EXPECT_EQ(histogram.percentile(99), 0u);
  EXPECT_EQ(histogram.min(), 0u);
  EXPECT_EQ(histogram.max(), 0u);
  EXPECT_EQ(histogram.mean(), 0);
}

TEST(LoadHistogram, OneValueIsEveryPercentile) {
  Histogram histogram;
  histogram.record(123'456'789);
  for (const double percent : {0.0, 50.0, 99.9, 100.0}) {
    EXPECT_EQ(histogram.percentile(percent), 123'456'789u) << percent;
  }
}

TEST(LoadHistogram, PercentilesAreWithinOnePercentOfTheSortedValues) {
  std::mt19937_64 random(7);
  // From tens of nanoseconds to minutes, as latencies spread: evenly in the logarithm.
  std::uniform_real_distribution<double> exponent(1, 11);
  std::vector<Nanos> values;
  Histogram histogram;
  for (int i = 0; i < 100'000; ++i) {
    values.push_back(static_cast<Nanos>(std::pow(10, exponent(random))));
    histogram.record(values.back());
  }
  for (const double percent : {0.1, 1.0, 10.0, 50.0, 90.0, 99.0, 99.9, 99.99, 100.0}) {
    const auto exact = static_cast<double>(exact_percentile(values, percent));
    EXPECT_NEAR(static_cast<double>(histogram.percentile(percent)), exact, exact / 100) << percent;
  }
  EXPECT_EQ(histogram.min(), *std::min_element(values.begin(), values.end()));
  EXPECT_EQ(histogram.max(), *std::max_element(values.begin(), values.end()));
}

TEST(LoadHistogram, EveryPowerOfTwoAndItsNeighboursAreCountedNearby) {
  for (int bit = 0; bit < 40; ++bit) {
    for (const int64_t step : {-1, 0, 1}) {
      const Nanos value = (Nanos{1} << bit) + static_cast<Nanos>(step);
      Histogram histogram;
      histogram.record(value);
      histogram.record(value * 4 + 4);  // so that the maximum does not hide the bucket's end
      EXPECT_GE(histogram.percentile(50), value);
      EXPECT_LE(histogram.percentile(50), value + value / 128 + 1);
    }
  }
}

TEST(LoadHistogram, ValuesBeyondItsRangeStillCount) {
  Histogram histogram;
  histogram.record(kNever - 1);
  EXPECT_EQ(histogram.count(), 1u);
  EXPECT_EQ(histogram.max(), kNever - 1);
}

TEST(LoadHistogram, AddingIsTheSameAsRecordingBoth) {
  Histogram first, second, both;
  for (Nanos i = 1; i <= 1000; ++i) {
    (i % 3 == 0 ? first : second).record(i * 977);
    both.record(i * 977);
  }
  first.add(second);
  EXPECT_EQ(first.count(), both.count());
  EXPECT_EQ(first.min(), both.min());
  EXPECT_EQ(first.max(), both.max());
  EXPECT_DOUBLE_EQ(first.mean(), both.mean());
  for (double percent = 0; percent <= 100; percent += 0.5) {
    EXPECT_EQ(first.percentile(percent), both.percentile(percent));
  }
}

}  // namespace
}  // namespace pqedge::measure::load
