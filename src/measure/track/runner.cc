#include "measure/track/runner.h"

#include <format>

#include "measure/host/withhold.h"
#include "measure/track/compose.h"

namespace pqedge::measure {

namespace {

class Measurement {
 public:
  Measurement(const Work& work, SuiteRecord facts, const SuiteRun& run) : work_(work), run_(run) {
    out_.record = std::move(facts);
  }

  Result<MeasuredSuite> all() {
    if (auto done = phases(); !done) return std::unexpected(done.error());
    if (work_.composed && !out_.cancelled) {
      compose_phases();
      if (auto done = end_to_end(); !done) return std::unexpected(done.error());
    }
    record_phases();
    if (auto done = work_.describe(out_.record); !done) return std::unexpected(done.error());
    return std::move(out_);
  }

 private:
  // Empty when it was cancelled before there was enough to say anything.
  Result<std::vector<double>> timed(std::string_view name, const Operation& operation) {
    if (run_.begins) run_.begins(name);
    auto samples = sample(operation, run_.limits);
    if (run_.ended) run_.ended();
    if (run_.limits.cancel != nullptr && run_.limits.cancel->load()) out_.cancelled = true;
    if (samples) return samples;
    if (samples.error().code == kCancelledCode) return std::vector<double>();
    return fail("{} of {} by {}: {}", name, out_.record.name, out_.record.provider,
                samples.error().message);
  }

  Result<void> phases() {
    for (const TimedPhase& phase : work_.phases) {
      if (out_.cancelled) return {};
      auto samples = timed(phase.plan.name, phase.operation);
      if (!samples) return std::unexpected(samples.error());
      if (samples->empty()) return {};
      withhold(phase.plan.name, *samples);
      phases_.push_back({phase.plan, std::move(*samples)});
    }
    return {};
  }

  void compose_phases() {
    cut_to_shortest(phases_);
    Composition composition = compose(phases_);
    out_.record.composed = summarize(composition.composed);
    out_.record.client = summarize(composition.client);
    out_.record.server = summarize(composition.server);
    out_.composed_us = std::move(composition.composed);
  }

  Result<void> end_to_end() {
    const auto exchange = work_.new_exchange();
    if (!exchange) return std::unexpected(exchange.error());
    const auto samples = timed("end to end", *exchange);
    if (!samples) return std::unexpected(samples.error());
    if (auto checked = exchange->prepare(); !checked) return std::unexpected(checked.error());
    if (samples->empty()) return {};
    withhold("end to end", *samples);
    out_.record.end_to_end = summarize(*samples);
    out_.record.end_to_end_ratio =
        out_.record.end_to_end->median_us / out_.record.composed->median_us;
    return {};
  }

  void record_phases() {
    for (PhaseSamples& phase : phases_) {
      out_.record.phases.push_back({.name = std::string(phase.plan.name),
                                    .side = std::string(side_name(phase.plan.side)),
                                    .weight = static_cast<double>(phase.plan.weight),
                                    .figures = summarize(phase.us)});
      if (run_.keep_samples) out_.record.phases.back().samples_us = std::move(phase.us);
    }
  }

  void withhold(std::string_view what, std::span<const double> samples) {
    if (out_.record.withheld) return;
    const auto reason = withhold_row(samples);
    if (reason) out_.record.withheld = Withheld{std::format("{}: {}", what, reason->reason)};
  }

  const Work& work_;
  const SuiteRun& run_;
  MeasuredSuite out_;
  std::vector<PhaseSamples> phases_;
};

}  // namespace

Result<MeasuredSuite> measure_suite(const Work& work, SuiteRecord facts, const SuiteRun& run) {
  return Measurement(work, std::move(facts), run).all();
}

}  // namespace pqedge::measure
