// The planned suites, measured one after the other.
#include <algorithm>
#include <format>

#include "measure/track/plan.h"
#include "measure/track/throughput.h"

namespace pqedge::measure {

namespace {

void note(const TrackRunHooks& hooks, const std::string& line) {
  if (hooks.progress != nullptr) hooks.progress->note(line);
}

SuiteRecord as_absent(SuiteRecord facts, const std::string& reason) {
  facts.absent = reason;
  return facts;
}

}  // namespace

// False when it failed.
bool TrackPlan::measure_one(const Planned& planned, SuiteRecord& out, Baselines& baselines,
                            const TrackRunHooks& hooks) const {
  const std::string title = std::format("{} {} ({})", track_name(planned.track), planned.facts.name,
                                        planned.facts.provider);
  size_t loops = 0;
  SuiteRun run{.limits = options_.limits, .keep_samples = options_.keep_samples};
  if (hooks.progress != nullptr) {
    run.begins = [&](std::string_view what) {
      hooks.progress->step(title + ": " + std::string(what));
    };
    run.ended = [&] {
      const auto& expected = planned.phase_seconds;
      hooks.progress->advance(loops < expected.size() ? expected[loops] : planned.exchange_seconds);
      ++loops;
    };
  }
  auto measured = measure_suite(*planned.work, planned.facts, run);
  if (!measured) {
    note(hooks, measured.error().message);
    out = as_absent(planned.facts, measured.error().message);
    return false;
  }
  out = std::move(measured->record);
  if (measured->composed_us.empty()) return true;
  if (out.baseline) {
    baselines[out.provider] = std::move(measured->composed_us);
    return true;
  }
  auto baseline = baselines.find(out.provider);
  if (baseline == baselines.end()) {  // this library has none: the default one's
    if (baselines.empty()) return true;
    baseline = baselines.contains("OpenSSL") ? baselines.find("OpenSSL") : baselines.begin();
    out.note += std::format("{}compared with the baseline by {}", out.note.empty() ? "" : "; ",
                            baseline->first);
  }
  out.against_baseline = ratio_of_medians(baseline->second, measured->composed_us);
  return true;
}

size_t TrackPlan::measure(Record& record, const TrackRunHooks& hooks) const {
  size_t failed = 0;
  for (const Track track : options_.tracks) {
    TrackRecord out{.name = std::string(track_name(track)),
                    .title = std::string(track_title(track))};
    Baselines baselines;
    for (const Planned& planned : planned_) {
      if (planned.track != track) continue;
      if (cancelled()) break;
      SuiteRecord suite = planned.facts;
      if (planned.work) {
        failed += measure_one(planned, suite, baselines, hooks) ? 0 : 1;
      } else if (!suite.provider.empty()) {
        ++failed;  // offered, and it failed when it was tried
        note(hooks, suite.absent);
      }
      // Cancelled before its first phase had enough samples: nothing is to be said of it.
      if (suite.phases.empty() && suite.absent.empty()) continue;
      out.suites.push_back(std::move(suite));
      if (hooks.between_suites) hooks.between_suites();
    }
    if (!out.suites.empty() || !cancelled()) record.tracks.push_back(std::move(out));
  }
  if (cancelled()) record.complete = false;
  return failed;
}

// False when it failed.
bool TrackPlan::throughput_one(const Planned& planned, TrackRecord& track,
                               const TrackRunHooks& hooks) const {
  const std::string name = planned.facts.name + std::string(planned.work->exchange_name);
  for (const unsigned threads : options_.threads) {
    if (cancelled()) return true;
    if (hooks.progress != nullptr) {
      hooks.progress->step(std::format("{} {} ({}): {} thread{}", track.name, name,
                                       planned.facts.provider, threads, threads == 1 ? "" : "s"));
    }
    std::vector<Operation> exchanges;
    for (unsigned i = 0; i < threads; ++i) {
      auto exchange = planned.work->new_exchange();
      if (!exchange) {
        note(hooks, std::format("{}: {}", name, exchange.error().message));
        return false;
      }
      exchanges.push_back(std::move(*exchange));
    }
    const auto result = measure::throughput(exchanges, options_.cores, options_.throughput_time,
                                            options_.limits.cancel);
    if (hooks.progress != nullptr) {
      hooks.progress->advance(static_cast<double>(options_.throughput_time) /
                              static_cast<double>(kSecond));
    }
    if (!result) {
      if (result.error().code == kCancelledCode) return true;
      note(hooks, std::format("{} with {} threads: {}", name, threads, result.error().message));
      return false;
    }
    track.throughput.push_back({.suite = name,
                                .provider = planned.facts.provider,
                                .threads = result->threads,
                                .per_second = result->per_second,
                                .per_second_per_thread = result->per_second_per_thread});
  }
  return true;
}

size_t TrackPlan::throughput(Record& record, const TrackRunHooks& hooks) const {
  size_t failed = 0;
  for (const Planned& planned : planned_) {
    if (!planned.work || !planned.work->new_exchange) continue;
    const auto track =
        std::ranges::find(record.tracks, track_name(planned.track), &TrackRecord::name);
    if (track == record.tracks.end()) continue;
    failed += throughput_one(planned, *track, hooks) ? 0 : 1;
  }
  if (cancelled()) record.complete = false;
  return failed;
}

}  // namespace pqedge::measure
