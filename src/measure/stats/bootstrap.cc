// The interval of a ratio of medians. A bootstrap resample of n sorted samples is n draws of their
// ranks, and only its median is wanted: the k-th smallest of n uniform numbers has the distribution
// Beta(k, n + 1 - k), so that rank is drawn directly, in the same time for 10 samples as for a
// million, and with the same distribution as by n draws and a sort.
#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "measure/stats/summary.h"

namespace pqedge::measure {

namespace {

constexpr size_t kResamples = 4000;
constexpr uint64_t kSeed = 0x70716564676501;

class MedianOfResample {
 public:
  explicit MedianOfResample(std::span<const double> samples)
      : ascending_(samples.begin(), samples.end()), rank_((samples.size() + 1) / 2) {
    std::ranges::sort(ascending_);
  }

  double draw(std::mt19937_64& random) const {
    const size_t n = ascending_.size();
    std::gamma_distribution<double> below(static_cast<double>(rank_), 1);
    std::gamma_distribution<double> above(static_cast<double>(n + 1 - rank_), 1);
    const double b = below(random);
    const double u = b / (b + above(random));
    if (n % 2 == 1) return at(u);
    // Of an even number the next one too: the least of n - rank numbers uniform in (u, 1).
    const double w = std::uniform_real_distribution<double>(0, 1)(random);
    const double next = 1 - (1 - u) * std::pow(1 - w, 1 / static_cast<double>(n - rank_));
    return (at(u) + at(next)) / 2;
  }

 private:
  double at(double u) const {
    const auto index = static_cast<size_t>(u * static_cast<double>(ascending_.size()));
    return ascending_[std::min(index, ascending_.size() - 1)];
  }

  std::vector<double> ascending_;
  size_t rank_;  // of the (lower) median, from 1
};

}  // namespace

Ratio ratio_of_medians(std::span<const double> a, std::span<const double> b) {
  const MedianOfResample of_a(a);
  const MedianOfResample of_b(b);
  std::mt19937_64 random(kSeed);
  std::vector<double> ratios(kResamples);
  for (double& ratio : ratios) {
    const double below = of_a.draw(random);
    ratio = of_b.draw(random) / below;
  }
  std::ranges::sort(ratios);
  return {median(b) / median(a), {percentile(ratios, 2.5), percentile(ratios, 97.5)}};
}

}  // namespace pqedge::measure
