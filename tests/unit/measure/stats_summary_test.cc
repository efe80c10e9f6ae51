#include "measure/stats/summary.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "unit/measure/stats_nist_data.h"

namespace pqedge::measure {
namespace {

// The digits that agree, as NIST counts them: -log10 of the relative error (StRD, "Background
// Information").
double digits(double got, double certified) {
  if (got == certified) return 15;
  return -std::log10(std::abs(got - certified) / std::abs(certified));
}

struct Certified {
  std::string name;
  std::vector<double> data;
  double mean, stdev;
  double stdev_digits;  // that doubles can give: the data's leading digits are lost on reading
};

// NIST StRD, Univariate Summary Statistics: NumAcc2 to 4 are one value and 500 pairs around it.
std::vector<double> around(double base) {
  std::vector<double> data{base + 0.2};
  for (int i = 0; i < 500; ++i) {
    data.push_back(base + 0.1);
    data.push_back(base + 0.3);
  }
  return data;
}

TEST(StatsSummary, CertifiedMeansAndDeviations) {
  const std::vector<Certified> sets = {
      {"Lew", kLew, -177.435, 277.332168044316, 14},
      {"Lottery", kLottery, 518.958715596330, 291.699727470969, 14},
      {"Mavro", kMavro, 2.001856, 0.000429123454003053, 12},
      {"Michelso", kMichelso, 299.8524, 0.0790105478190518, 13},
      {"NumAcc1", {10000001, 10000003, 10000002}, 10000002, 1, 15},
      {"NumAcc2", around(1), 1.2, 0.1, 14},
      {"NumAcc3", around(1000000), 1000000.2, 0.1, 9},
      {"NumAcc4", around(10000000), 10000000.2, 0.1, 8},
  };
  for (const Certified& set : sets) {
    const Summary s = summarize(set.data);
    EXPECT_EQ(s.iterations, set.data.size()) << set.name;
    EXPECT_GE(digits(s.mean_us, set.mean), 14) << set.name;
    EXPECT_GE(digits(s.stdev_us, set.stdev), set.stdev_digits) << set.name;
  }
}

TEST(StatsSummary, MediansLowestAndHighestOfTheCertifiedSets) {
  EXPECT_EQ(median(kLew), -162);
  EXPECT_DOUBLE_EQ(median(kMavro), 2.0018);
  const Summary lottery = summarize(kLottery);
  EXPECT_EQ(lottery.min_us, 4);
  EXPECT_EQ(lottery.max_us, 999);
  const Summary light = summarize(kMichelso);
  EXPECT_EQ(light.min_us, 299.62);
  EXPECT_EQ(light.max_us, 300.07);
}

TEST(StatsSummary, NearestRank) {
  // The ordinal ranks of a list of five, of ten and of eleven: Wikipedia, "Percentile", "The
  // nearest-rank method", worked examples.
  const std::vector<double> five{15, 20, 35, 40, 50};
  EXPECT_EQ(percentile(five, 5), 15);
  EXPECT_EQ(percentile(five, 30), 20);
  EXPECT_EQ(percentile(five, 40), 20);
  EXPECT_EQ(percentile(five, 50), 35);
  EXPECT_EQ(percentile(five, 100), 50);
  const std::vector<double> ten{3, 6, 7, 8, 8, 10, 13, 15, 16, 20};
  EXPECT_EQ(percentile(ten, 25), 7);
  EXPECT_EQ(percentile(ten, 50), 8);
  EXPECT_EQ(percentile(ten, 75), 15);
  EXPECT_EQ(percentile(ten, 100), 20);
  const std::vector<double> eleven{3, 6, 7, 8, 8, 9, 10, 13, 15, 16, 20};
  EXPECT_EQ(percentile(eleven, 25), 7);
  EXPECT_EQ(percentile(eleven, 50), 9);
  EXPECT_EQ(percentile(eleven, 75), 15);
}

std::vector<double> one_to(int n) {
  std::vector<double> values;
  for (int i = n; i >= 1; --i) values.push_back(i);
  return values;
}

TEST(StatsSummary, RanksOfAThousand) {
  const Summary s = summarize(one_to(1000));
  EXPECT_EQ(s.p95_us, 950);
  EXPECT_EQ(s.p99_us, 990);
  EXPECT_EQ(s.median_us, 500.5);
  EXPECT_EQ(s.mean_us, 500.5);
  EXPECT_DOUBLE_EQ(s.tail, 1000 / 500.5);
  EXPECT_DOUBLE_EQ(s.ops_per_second, 1e6 / 500.5);
}

TEST(StatsSummary, NoP99BelowAHundred) {
  EXPECT_FALSE(summarize(one_to(99)).p99_us);
  EXPECT_EQ(summarize(one_to(100)).p99_us, 99);
}

TEST(StatsSummary, OneSample) {
  const Summary s = summarize(std::vector<double>{3});
  EXPECT_EQ(s.median_us, 3);
  EXPECT_EQ(s.p95_us, 3);
  EXPECT_EQ(s.stdev_us, 0);
  EXPECT_EQ(s.mean_ci95_us, 0);
  EXPECT_EQ(s.tail, 1);
}

// The column 0.975 of the table in the NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2.
TEST(StatsSummary, StudentsTable) {
  const std::vector<std::pair<size_t, double>> table = {
      {1, 12.706}, {2, 4.303},  {3, 3.182},  {4, 2.776},  {5, 2.571},   {6, 2.447},
      {7, 2.365},  {8, 2.306},  {9, 2.262},  {10, 2.228}, {15, 2.131},  {20, 2.086},
      {29, 2.045}, {30, 2.042}, {40, 2.021}, {60, 2.000}, {100, 1.984}, {999, 1.962}};
  for (const auto& [degrees, t] : table) {
    EXPECT_NEAR(student_t_975(degrees), t, 0.0005) << degrees;
  }
  EXPECT_NEAR(student_t_975(100'000'000), 1.959964, 1e-6);
}

TEST(StatsSummary, StudentsClosedForms) {
  // One degree of freedom is the Cauchy distribution; two have the quantile
  // (2 p - 1) sqrt(2 / (4 p (1 - p))).
  EXPECT_NEAR(student_t_975(1), std::tan(0.475 * std::acos(-1)), 1e-9);
  EXPECT_NEAR(student_t_975(2), 0.95 * std::sqrt(2 / (4 * 0.975 * 0.025)), 1e-9);
}

TEST(StatsSummary, StudentsTwoMethodsMeet) {
  // 199 degrees are summed, 200 are expanded: no step between them but the curve's own.
  const double before = student_t_975(198) - student_t_975(199);
  const double across = student_t_975(199) - student_t_975(200);
  const double after = student_t_975(200) - student_t_975(201);
  EXPECT_LT(across, before);
  EXPECT_GT(across, after);
}

TEST(StatsSummary, IntervalOfTheMean) {
  // Student's sleep data (R's `sleep`, the differences): R's t.test gives 0.7001142 to 2.4598858
  // about a mean of 1.58.
  const std::vector<double> sleep{1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4};
  const Summary s = summarize(sleep);
  EXPECT_NEAR(s.mean_us, 1.58, 1e-12);
  EXPECT_NEAR(s.mean_us - s.mean_ci95_us, 0.7001142, 5e-8);
  EXPECT_NEAR(s.mean_us + s.mean_ci95_us, 2.4598858, 5e-8);
}

TEST(StatsSummary, RangeNeedsSevenRuns) {
  EXPECT_FALSE(range_of(std::vector<double>{1, 2, 3, 4, 5, 6}));
  const auto range = range_of(std::vector<double>{-81.5, -60.3, -72.2, -78.1, -70, -75, -72.1});
  ASSERT_TRUE(range);
  EXPECT_EQ(range->low, -81.5);
  EXPECT_EQ(range->high, -60.3);
  EXPECT_EQ(range->median, -72.2);
  EXPECT_EQ(range->runs, 7u);
}

}  // namespace
}  // namespace pqedge::measure
