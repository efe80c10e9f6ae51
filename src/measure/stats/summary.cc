#include "measure/stats/summary.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace pqedge::measure {

namespace {

// Neumaier's compensated sum: the digits that a long sum would drop are kept beside it.
class Sum {
 public:
  void add(double x) {
    const double sum = sum_ + x;
    lost_ += std::abs(sum_) >= std::abs(x) ? (sum_ - sum) + x : (x - sum) + sum_;
    sum_ = sum;
  }
  double value() const { return sum_ + lost_; }

 private:
  double sum_ = 0;
  double lost_ = 0;
};

double mean_of(std::span<const double> samples) {
  Sum sum;
  for (const double x : samples) sum.add(x);
  return sum.value() / static_cast<double>(samples.size());
}

// Two passes, with the correction for the mean's own rounding: samples that share their leading
// digits cost no digits of the deviation.
double deviation(std::span<const double> samples, double mean) {
  if (samples.size() < 2) return 0;
  Sum squares, differences;
  for (const double x : samples) {
    const double d = x - mean;
    squares.add(d * d);
    differences.add(d);
  }
  const double n = static_cast<double>(samples.size());
  const double rest = differences.value() * differences.value() / n;
  return std::sqrt(std::max(0.0, squares.value() - rest) / (n - 1));
}

std::vector<double> sorted(std::span<const double> samples) {
  std::vector<double> copy(samples.begin(), samples.end());
  std::ranges::sort(copy);
  return copy;
}

double middle(std::span<const double> ascending) {
  const size_t n = ascending.size();
  if (n % 2 == 1) return ascending[n / 2];
  return ascending[n / 2 - 1] + (ascending[n / 2] - ascending[n / 2 - 1]) / 2;
}

}  // namespace

double percentile(std::span<const double> ascending, double p) {
  // n times p first: 95 % of 1,000 is 950, where 0.95 * 1000 may come out a little above.
  const double rank = std::ceil(static_cast<double>(ascending.size()) * p / 100);
  const size_t index = rank < 1 ? 0 : static_cast<size_t>(rank) - 1;
  return ascending[std::min(index, ascending.size() - 1)];
}

double median(std::span<const double> samples) { return middle(sorted(samples)); }

Summary summarize(std::span<const double> samples_us) {
  const std::vector<double> ascending = sorted(samples_us);
  const size_t n = ascending.size();
  Summary s;
  s.iterations = n;
  s.mean_us = mean_of(samples_us);
  s.median_us = middle(ascending);
  s.p95_us = percentile(ascending, 95);
  if (n >= Summary::kLeastForP99) s.p99_us = percentile(ascending, 99);
  s.stdev_us = deviation(samples_us, s.mean_us);
  s.min_us = ascending.front();
  s.max_us = ascending.back();
  if (n > 1) {
    s.mean_ci95_us = student_t_975(n - 1) * s.stdev_us / std::sqrt(static_cast<double>(n));
  }
  if (s.mean_us > 0) {
    s.tail = s.max_us / s.mean_us;
    s.ops_per_second = 1e6 / s.mean_us;
  }
  return s;
}

std::optional<Range> range_of(std::span<const double> runs) {
  if (runs.size() < Range::kLeastRuns) return std::nullopt;
  const auto [low, high] = std::ranges::minmax(runs);
  return Range{median(runs), low, high, runs.size()};
}

}  // namespace pqedge::measure
