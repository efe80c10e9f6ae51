#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
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

// P(the resample's median <= the j-th smallest of n), n odd: at least (n + 1) / 2 of n draws fall
// on the j smallest.
double exact_distribution(size_t n, size_t j) {
  const double p = static_cast<double>(j) / static_cast<double>(n);
  double sum = 0;
  for (size_t i = (n + 1) / 2; i <= n; ++i) {
    const double choose = std::lgamma(static_cast<double>(n + 1)) -
                          std::lgamma(static_cast<double>(i + 1)) -
                          std::lgamma(static_cast<double>(n - i + 1));
    const double a = static_cast<double>(i), b = static_cast<double>(n - i);
    sum += p >= 1 ? (i == n) : std::exp(choose + a * std::log(p) + b * std::log(1 - p));
  }
  return sum;
}

// The rank at which the distribution reaches `level`, or 0 where 4,000 resamples cannot tell for
// sure (one standard error is 0.0025).
size_t exact_rank(size_t n, double level) {
  size_t j = 1;
  while (exact_distribution(n, j) < level) ++j;
  const double before = j == 1 ? 0 : exact_distribution(n, j - 1);
  const bool sure = exact_distribution(n, j) - level > 0.008 && level - before > 0.008;
  return sure ? j : 0;
}

TEST(StatsBootstrap, AgreesWithTheExactDistribution) {
  size_t compared = 0;
  for (size_t n = 5; n <= 75; n += 2) {
    std::vector<double> ranks;
    for (size_t i = 1; i <= n; ++i) ranks.push_back(static_cast<double>(i));
    const Ratio ratio = ratio_of_medians(std::vector<double>{1}, ranks);
    if (const size_t low = exact_rank(n, 0.025)) {
      ++compared;
      EXPECT_EQ(ratio.ci95.first, static_cast<double>(low)) << n;
    }
    if (const size_t high = exact_rank(n, 0.975)) {
      ++compared;
      EXPECT_EQ(ratio.ci95.second, static_cast<double>(high)) << n;
    }
  }
  EXPECT_GE(compared, 15u);
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
