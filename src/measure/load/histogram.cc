#include "measure/load/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace pqedge::measure::load {

// Values below 2^kSubBits have a bucket each. Above, a value with its highest bit at b falls into
// group b - kSubBits + 1, at the place that its next kSubBits bits say.
size_t Histogram::index_of(Nanos value) {
  value = std::min(value, (Nanos{1} << kMaxBits) - 1);
  if (value < kSubBuckets) return value;
  const int shift = std::bit_width(value) - 1 - kSubBits;
  return static_cast<size_t>(shift + 1) * kSubBuckets +
         static_cast<size_t>((value >> shift) - kSubBuckets);
}

Nanos Histogram::upper_end(size_t index) {
  const uint64_t group = index / kSubBuckets;
  const uint64_t place = index % kSubBuckets;
  if (group == 0) return place;
  return ((kSubBuckets + place + 1) << (group - 1)) - 1;
}

void Histogram::record(Nanos value) {
  ++buckets_[index_of(value)];
  ++count_;
  min_ = std::min(min_, value);
  max_ = std::max(max_, value);
  sum_ += static_cast<double>(value);
}

void Histogram::add(const Histogram& other) {
  for (size_t i = 0; i < kBuckets; ++i) buckets_[i] += other.buckets_[i];
  count_ += other.count_;
  min_ = std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
  sum_ += other.sum_;
}

double Histogram::mean() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }

Nanos Histogram::percentile(double percent) const {
  if (count_ == 0) return 0;
  const double wanted = std::ceil(static_cast<double>(count_) * percent / 100);
  const uint64_t rank = std::clamp<uint64_t>(static_cast<uint64_t>(wanted), 1, count_);
  uint64_t seen = 0;
  for (size_t i = 0; i < kBuckets; ++i) {
    seen += buckets_[i];
    if (seen >= rank) return std::clamp(upper_end(i), min_, max_);
  }
  return max_;
}

}  // namespace pqedge::measure::load
