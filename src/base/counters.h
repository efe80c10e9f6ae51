// Counters that any module can bump without a lock or a shared cache line. `record` renders them.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace pqedge::counters {

enum class Kind : uint8_t { counter, gauge };  // a gauge's shards are summed too: add and subtract

// Names and labels come from code and configuration, never from a client.
struct Label {
  std::string name;
  std::string value;
};
using Labels = std::vector<Label>;

// One series. Every thread adds to its own slot; reading sums the slots of all threads, those that
// have ended included. Registration takes a lock and is idempotent: the same name and labels give
// the same series (reload), so a Counter may be registered again at will. Copyable handle.
// Past kMaxSeries registrations fall into one series named `other` (K66: bounded for certain).
class Counter {
 public:
  static constexpr size_t kMaxSeries = 16384;

  Counter() = default;  // adds to a slot nobody reads
  explicit Counter(std::string_view name, std::string_view help, Labels labels = {},
                   Kind kind = Kind::counter);

  void add(uint64_t n = 1) const;
  void subtract(uint64_t n = 1) const { add(~n + 1); }
  uint64_t value() const;

 private:
  uint32_t index_ = 0;
};

// Latency in fixed buckets (seconds: 0.0001 .. 60), Prometheus style: one Counter a bucket, a sum
// and a count.
class Histogram {
 public:
  static constexpr std::array<uint64_t, 14> kBoundsMicros = {
      100,    250,     500,     1'000,     2'500,     5'000,      10'000,
      50'000, 100'000, 500'000, 1'000'000, 5'000'000, 10'000'000, 60'000'000};

  Histogram() = default;
  Histogram(std::string_view name, std::string_view help, const Labels& labels = {});
  void observe_micros(uint64_t micros) const;

 private:
  std::array<Counter, kBoundsMicros.size() + 1> buckets_;  // not cumulative; the last is +Inf
  Counter sum_micros_;
};

// Sizes in fixed buckets of bytes (256 .. 64 KiB): as Histogram, but for its sum, NAME_sum_bytes.
class SizeHistogram {
 public:
  static constexpr std::array<uint64_t, 13> kBounds = {
      256, 512, 1'024, 1'536, 2'048, 3'072, 4'096, 6'144, 8'192, 12'288, 16'384, 32'768, 65'536};

  SizeHistogram() = default;
  SizeHistogram(std::string_view name, std::string_view help, const Labels& labels = {});
  void observe(uint64_t bytes) const;

 private:
  std::array<Counter, kBounds.size() + 1> buckets_;  // not cumulative; the last is +Inf
  Counter sum_;
};

// One registered series as a reader sees it.
struct Series {
  std::string_view name;
  std::string_view help;
  const Labels* labels;
  Kind kind;
  uint64_t value;
};

// Calls take() for each series, sorted by name and then by labels. Takes the registry's lock.
void for_each(const std::function<void(const Series&)>& take);

}  // namespace pqedge::counters
