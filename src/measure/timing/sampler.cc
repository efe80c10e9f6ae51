#include "measure/timing/sampler.h"

#include <algorithm>
#include <array>
#include <format>

#include "measure/stats/summary.h"

namespace pqedge::measure {

namespace {

bool cancelled(const SamplingLimits& limits) {
  return limits.cancel != nullptr && limits.cancel->load(std::memory_order_relaxed);
}

std::unexpected<Error> cancelled_error(std::string_view when) {
  return std::unexpected(Error{std::format("cancelled {}", when), kCancelledCode});
}

Result<void> prepared(const Operation& operation) {
  return operation.prepare ? operation.prepare() : Result<void>{};
}

Result<void> warm_up(const Operation& operation, const SamplingLimits& limits) {
  const Nanos begun = monotonic_now();
  for (size_t i = 0; i < limits.warm_ups; ++i) {
    if (cancelled(limits)) return cancelled_error("while warming up");
    if (i > 0 && monotonic_now() - begun >= limits.warm_up_time) break;
    if (auto done = prepared(operation); !done) return done;
    if (auto done = operation.run(); !done) return done;
  }
  return {};
}

Result<void> resolvable(std::span<const double> samples_us, const SamplingLimits& limits) {
  const double shortest_ns = limits.least_clock_steps * clock_facts().resolution_ns;
  const double median_ns = median(samples_us) * 1000;
  if (median_ns >= shortest_ns) return {};
  return fail(
      "one operation takes about {:.0f} ns, below {:.0f} steps of the clock ({:.0f} ns): it cannot "
      "be timed one by one",
      median_ns, limits.least_clock_steps, shortest_ns);
}

double smallest_step() {
  Nanos smallest = kNever;
  for (int i = 0; i < 2000; ++i) {
    const Nanos before = monotonic_now();
    Nanos after = before;
    while (after == before) after = monotonic_now();
    smallest = std::min(smallest, after - before);
  }
  return static_cast<double>(smallest);
}

double cost_of_reading() {
  constexpr int kReadings = 100;
  std::array<double, 101> blocks{};
  for (double& block : blocks) {
    const Nanos before = monotonic_now();
    for (int i = 1; i < kReadings; ++i) monotonic_now();
    block = static_cast<double>(monotonic_now() - before) / kReadings;
  }
  return median(blocks);
}

}  // namespace

const ClockFacts& clock_facts() {
  static const ClockFacts facts{"CLOCK_MONOTONIC", smallest_step(), cost_of_reading()};
  return facts;
}

Result<std::vector<double>> sample(const Operation& operation, const SamplingLimits& limits) {
  const double overhead_ns = clock_facts().overhead_ns;
  if (auto warm = warm_up(operation, limits); !warm) return std::unexpected(warm.error());
  const size_t most = std::max(limits.iterations, limits.least);
  std::vector<double> samples_us;
  samples_us.reserve(std::min<size_t>(most, 1'000'000));
  const Nanos begun = monotonic_now();
  while (samples_us.size() < most) {
    const bool enough = samples_us.size() >= limits.least;
    if (cancelled(limits)) {
      if (!enough) return cancelled_error(std::format("after {} samples", samples_us.size()));
      break;
    }
    if (enough && monotonic_now() - begun >= limits.time) break;
    if (auto done = prepared(operation); !done) return std::unexpected(done.error());
    const Nanos before = monotonic_now();
    const Result<void> done = operation.run();
    const Nanos after = monotonic_now();
    if (!done) return std::unexpected(done.error());
    const double ns = static_cast<double>(after - before) - overhead_ns;
    samples_us.push_back(std::max(ns, 0.0) / 1000);
  }
  if (samples_us.empty()) return fail("no sample was asked for");
  if (auto fine = resolvable(samples_us, limits); !fine) return std::unexpected(fine.error());
  return samples_us;
}

}  // namespace pqedge::measure
