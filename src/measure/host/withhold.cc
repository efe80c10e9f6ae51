#include "measure/host/withhold.h"

#include <cmath>
#include <format>
#include <string>
#include <utility>

#include "measure/stats/summary.h"

namespace pqedge::measure {

namespace {

class Reasons {
 public:
  void add(std::string reason) {
    if (!text_.empty()) text_ += "; ";
    text_ += reason;
  }
  void above(std::string_view what, double figure, double limit) {
    if (figure > limit) add(std::format("{} {:.1f} %, above {:g} %", what, figure, limit));
  }
  std::optional<Withheld> result() && {
    if (text_.empty()) return std::nullopt;
    return Withheld{std::move(text_)};
  }

 private:
  std::string text_;
};

constexpr size_t kLeastForDrift = 20;

}  // namespace

std::optional<Withheld> withhold_run(const NoiseFacts& noise, unsigned logical_cores,
                                     const WithholdLimits& limits) {
  Reasons reasons;
  for (const std::string& name : noise.unknown) {
    if (name != "load_after") reasons.add(std::format("{} could not be read", name));
  }
  reasons.above("steal", noise.steal_percent, limits.steal_percent);
  if (noise.core_steal_percent) {
    reasons.above("steal of the pinned core", *noise.core_steal_percent, limits.steal_percent);
  }
  const double load = noise.load_before - noise.load_own;
  const double most_load = limits.load_per_core * (logical_cores > 0 ? logical_cores : 1);
  if (load > most_load) {
    reasons.add(std::format("load before the run {:.2f}, above {:g}", load, most_load));
  }
  if (noise.others_percent) {
    reasons.above("CPU time of other processes", *noise.others_percent, limits.others_percent);
  }
  if (noise.throttled_percent) {
    reasons.above("throttled by a CPU quota", *noise.throttled_percent, limits.throttled_percent);
  }
  // A disturbance that passes takes the suites beside it (withhold_between). The run is lost when
  // nobody can say how fast this host usually was.
  if (noise.quartile_spread_percent) {
    reasons.above("spread of the reference loop between its quartiles",
                  *noise.quartile_spread_percent, limits.spread_percent);
  } else {
    reasons.above("spread of the reference loop", noise.spread_percent, limits.spread_percent);
  }
  if (noise.frequency_change_percent) {
    reasons.above("change of frequency", *noise.frequency_change_percent,
                  limits.frequency_change_percent);
  }
  return std::move(reasons).result();
}

std::optional<Withheld> withhold_between(double before_us, double after_us, double run_us,
                                         const WithholdLimits& limits) {
  for (const auto& [where, mark_us] : {std::pair{"before", before_us}, {"after", after_us}}) {
    const double off = 100 * (mark_us / run_us - 1);
    if (std::abs(off) <= limits.spread_percent) continue;
    return Withheld{
        std::format("the reference loop right {} it is {:+.1f} % from the run's median, "
                    "more than {:g} %",
                    where, off, limits.spread_percent)};
  }
  return std::nullopt;
}

std::optional<Withheld> withhold_row(std::span<const double> samples_us,
                                     const WithholdLimits& limits) {
  if (samples_us.size() < kLeastForDrift) return std::nullopt;
  const size_t half = samples_us.size() / 2;
  // By the interval, not the value: halves of what varies by itself (RSA key generation, ML-DSA
  // signing) differ by chance.
  const Ratio drift = ratio_of_medians(samples_us.first(half), samples_us.last(half));
  const double allowed = limits.drift_percent / 100;
  if (!(drift.ci95.first > 1 + allowed) && !(drift.ci95.second < 1 - allowed)) return std::nullopt;
  return Withheld{std::format(
      "the second half's median is {:+.1f} % from the first's, for certain more than {:g} %",
      100 * (drift.value - 1), limits.drift_percent)};
}

}  // namespace pqedge::measure
