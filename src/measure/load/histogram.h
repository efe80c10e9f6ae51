// Latencies in a histogram of bounded relative error.
#pragma once

#include <array>
#include <cstdint>

#include "base/time.h"

namespace pqedge::measure::load {

// Each power of two is cut into 128 equal buckets, as in HdrHistogram with two significant digits:
// a percentile is off by less than 1 %. From 1 ns to 18 minutes; longer is counted as the longest.
// Fixed size, nothing is allocated. Minimum, maximum and mean are exact.
class Histogram {
 public:
  void record(Nanos value);
  void add(const Histogram& other);

  uint64_t count() const { return count_; }
  Nanos min() const { return count_ == 0 ? 0 : min_; }
  Nanos max() const { return max_; }
  double mean() const;

  // The smallest recorded bucket such that at least `percent` (0 to 100) of the values are not
  // above its upper end; never beyond the maximum. 0 when nothing was recorded.
  Nanos percentile(double percent) const;

  // Calls take(upper end, count) for each bucket that is not empty, ascending.
  template <typename Take>
  void for_each(Take&& take) const {
    for (size_t i = 0; i < kBuckets; ++i) {
      if (buckets_[i] != 0) take(upper_end(i), buckets_[i]);
    }
  }

 private:
  static constexpr int kSubBits = 7;
  static constexpr int kMaxBits = 40;
  static constexpr uint64_t kSubBuckets = uint64_t{1} << kSubBits;
  static constexpr size_t kBuckets = (kMaxBits - kSubBits + 1) * kSubBuckets;

  static size_t index_of(Nanos value);
  static Nanos upper_end(size_t index);

  std::array<uint64_t, kBuckets> buckets_{};
  uint64_t count_ = 0;
  Nanos min_ = kNever;
  Nanos max_ = 0;
  double sum_ = 0;
};

}  // namespace pqedge::measure::load
