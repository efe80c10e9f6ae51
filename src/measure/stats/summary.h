// What a set of timings says (M6). All times are in microseconds.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>

namespace pqedge::measure {

// One phase's or one composed exchange's figures. Percentiles are by the nearest rank
// (the smallest sample with at least p % of all at or below it); the median of an even number is
// the mean of the two in the middle. One sample alone has no spread: its stdev and interval are 0.
struct Summary {
  size_t iterations = 0;
  double mean_us = 0;
  double median_us = 0;
  double p95_us = 0;
  std::optional<double> p99_us;  // none below kLeastForP99 samples
  double stdev_us = 0;           // of the sample, n - 1 in the denominator
  double min_us = 0;
  double max_us = 0;
  double mean_ci95_us = 0;  // half the width of the mean's 95 % interval (Student's t)
  double tail = 0;          // max over mean
  double ops_per_second = 0;

  static constexpr size_t kLeastForP99 = 100;
};

// `samples_us` must not be empty; its order does not matter and is left alone.
Summary summarize(std::span<const double> samples_us);

// The nearest-rank percentile, 0 < p <= 100, of ascending samples.
double percentile(std::span<const double> ascending, double p);

double median(std::span<const double> samples);

// The quantile of Student's t that leaves 2.5 % above it, for the 95 % interval of a mean.
double student_t_975(size_t degrees_of_freedom);

// `value` is b over a of the medians (neither is empty, all are positive); the 95 % interval is by
// the percentile bootstrap, 4,000 resamples of each side with a fixed seed, whatever the size.
struct Ratio {
  double value = 0;
  std::pair<double, double> ci95{0, 0};
  bool excludes_one() const { return ci95.first > 1 || ci95.second < 1; }
};
Ratio ratio_of_medians(std::span<const double> a, std::span<const double> b);

// Of one figure over several runs on one host (M9); none for fewer than kLeastRuns.
struct Range {
  double median = 0;
  double low = 0;   // the lowest run
  double high = 0;  // the highest run
  size_t runs = 0;
  static constexpr size_t kLeastRuns = 7;  // fewer are shown as single dated runs
};
std::optional<Range> range_of(std::span<const double> runs);

}  // namespace pqedge::measure
