#include "measure/record/compare_estimate.h"

#include <algorithm>
#include <cmath>
#include <format>

namespace pqedge::measure {
namespace {

Estimate by_runs(const std::vector<double>& a, const std::vector<double>& b) {
  return {ratio_of_medians(a, b),
          std::format("{} and {} runs: 95 % interval of the ratio of their medians by bootstrap",
                      a.size(), b.size())};
}

Estimate by_ranges(const std::vector<double>& a, const std::vector<double>& b) {
  Ratio r{.value = median(b) / median(a)};
  r.ci95 = {std::ranges::min(b) / std::ranges::max(a), std::ranges::max(b) / std::ranges::min(a)};
  return {r, std::format("{} and {} runs: from the extremes, since an interval takes {} a side",
                         a.size(), b.size(), Range::kLeastRuns)};
}

// Of means, from their standard errors (the variance of a quotient, to the first order). Centred on
// the ratio of medians when that lies further out.
Ratio by_means(const Summary& a, const Summary& b) {
  const double mean = b.mean_us / a.mean_us;
  const auto variance = [](const Summary& s) {
    const double relative = s.stdev_us / s.mean_us;
    return relative * relative / static_cast<double>(s.iterations);
  };
  const double half = 1.96 * mean * std::sqrt(variance(a) + variance(b));
  Ratio r{.value = b.median_us / a.median_us};
  r.ci95 = {std::min(r.value, mean) - half, std::max(r.value, mean) + half};
  r.ci95.first = std::max(r.ci95.first, 0.0);
  return r;
}

// How far the same code may differ between two single runs: the reference loop's spread in each,
// and the change of its time from one to the other.
double drift(const NoiseFacts& a, const NoiseFacts& b) {
  double drift = (a.spread_percent + b.spread_percent) / 100;
  if (a.reference_us && b.reference_us && *a.reference_us > 0 && *b.reference_us > 0) {
    const double change = *b.reference_us / *a.reference_us;
    drift += std::max(change, 1 / change) - 1;
  }
  return drift;
}

Estimate by_one_run(const Seen& a, const Seen& b) {
  Estimate e;
  const bool samples = a.samples.size() > 1 && b.samples.size() > 1;
  e.ratio = samples ? ratio_of_medians(a.samples, b.samples) : by_means(*a.figures, *b.figures);
  const double wider = 1 + drift(a.record->environment.noise, b.record->environment.noise);
  e.ratio.ci95.first /= wider;
  e.ratio.ci95.second *= wider;
  e.evidence = std::format(
      "one run a side, {} and {} iterations: 95 % interval {}, {:.1f} % wider for the hosts' drift",
      a.figures->iterations, b.figures->iterations,
      samples ? "of the ratio of medians by bootstrap" : "from means and deviations",
      (wider - 1) * 100);
  return e;
}

}  // namespace

std::vector<double> medians(const std::vector<Seen>& runs) {
  std::vector<double> out;
  for (const Seen& s : runs) out.push_back(s.figures->median_us);
  return out;
}

Estimate estimate(const std::vector<Seen>& a, const std::vector<Seen>& b) {
  if (a.size() < 2 || b.size() < 2) return by_one_run(a.back(), b.back());
  const auto before = medians(a);
  const auto after = medians(b);
  if (std::min(a.size(), b.size()) >= Range::kLeastRuns) return by_runs(before, after);
  return by_ranges(before, after);
}

}  // namespace pqedge::measure
