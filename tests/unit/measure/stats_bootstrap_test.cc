#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "measure/stats/summary.h"

namespace pqedge::measure {
namespace {

std::vector<double> skewed(size_t n, double scale, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::lognormal_distribution<double> distribution(0, 0.4);
  std::vector<double> values;
  for (size_t i = 0; i < n; ++i) values.push_back(scale * distribution(random));
  return values;
}

// As the textbooks do it (Efron and Tibshirani, An Introduction to the Bootstrap, 13.3): draw n of
// n with replacement, sort, take the median.
std::pair<double, double> by_drawing(const std::vector<double>& a, const std::vector<double>& b) {
  std::mt19937_64 random(7);
  const auto resampled = [&](const std::vector<double>& from) {
    std::uniform_int_distribution<size_t> any(0, from.size() - 1);
    std::vector<double> drawn(from.size());
    for (double& value : drawn) value = from[any(random)];
    return median(drawn);
  };
  std::vector<double> ratios(3000);
  for (double& ratio : ratios) {
    const double below = resampled(a);
    ratio = resampled(b) / below;
  }
  std::ranges::sort(ratios);
  return {percentile(ratios, 2.5), percentile(ratios, 97.5)};
}

TEST(StatsBootstrap, AgreesWithDrawingEachSample) {
  for (const size_t n : {9u, 10u, 51u, 100u}) {
    const auto a = skewed(n, 100, 1);
    const auto b = skewed(n + 1, 130, 2);
    const Ratio ratio = ratio_of_medians(a, b);
    const auto [low, high] = by_drawing(a, b);
    EXPECT_DOUBLE_EQ(ratio.value, median(b) / median(a));
    const double width = high - low;
    EXPECT_NEAR(ratio.ci95.first, low, 0.1 * width) << n;
    EXPECT_NEAR(ratio.ci95.second, high, 0.1 * width) << n;
  }
}

TEST(StatsBootstrap, SameInputSameInterval) {
  const auto a = skewed(1000, 100, 1);
  const auto b = skewed(1000, 105, 2);
  const Ratio first = ratio_of_medians(a, b);
  const Ratio second = ratio_of_medians(a, b);
  EXPECT_EQ(first.ci95, second.ci95);
  EXPECT_LE(first.ci95.first, first.value);
  EXPECT_GE(first.ci95.second, first.value);
}

TEST(StatsBootstrap, HoldsTheTrueRatioAsOftenAsItSays) {
  int held = 0;
  constexpr int kTrials = 300;
  for (int i = 0; i < kTrials; ++i) {
    const auto a = skewed(60, 100, 1000 + 2 * static_cast<uint64_t>(i));
    const auto b = skewed(60, 120, 1001 + 2 * static_cast<uint64_t>(i));
    const Ratio ratio = ratio_of_medians(a, b);
    held += ratio.ci95.first <= 1.2 && 1.2 <= ratio.ci95.second;
  }
  EXPECT_GE(held, kTrials * 92 / 100);
  EXPECT_LE(held, kTrials * 99 / 100);
}

TEST(StatsBootstrap, SaysWhetherOneIsExcluded) {
  EXPECT_TRUE(ratio_of_medians(skewed(1000, 100, 1), skewed(1000, 150, 2)).excludes_one());
  EXPECT_TRUE(ratio_of_medians(skewed(1000, 150, 1), skewed(1000, 100, 2)).excludes_one());
  EXPECT_FALSE(ratio_of_medians(skewed(20, 100, 1), skewed(20, 101, 2)).excludes_one());
  const std::vector<double> same{4};
  const Ratio one = ratio_of_medians(same, same);
  EXPECT_EQ(one.ci95, (std::pair<double, double>{1, 1}));
}

}  // namespace
}  // namespace pqedge::measure
