#include "programs/pqcost/run_session.h"

#include <algorithm>
#include <format>
#include <vector>

#include "measure/chain/chain.h"
#include "measure/host/environment.h"
#include "measure/host/noise.h"
#include "measure/host/withhold.h"
#include "measure/record/json.h"
#include "measure/token/token.h"

namespace pqedge::pqcost {

using namespace measure;

Registry load_registry(const RunArguments& arguments, const Chosen& chosen) {
  RegistryOptions options;
  options.wanted = [&](const Algorithm& algorithm) {
    return (chosen.tokens && algorithm.name.starts_with("Falcon")) ||
           std::ranges::any_of(chosen.tracks, [&](Track track) {
             return uses(track, arguments.suites, algorithm);
           });
  };
  return Registry::load(options);
}

namespace {

std::vector<Library> libraries_of(const Registry& registry) {
  std::vector<Library> libraries;
  for (const auto& provider : registry.providers()) {
    libraries.push_back({provider->facts().name, provider->facts().version});
  }
  return libraries;
}

void add_registry(const Registry& registry, Record& record) {
  for (const KnownAnswer& k : registry.known_answers()) {
    record.known_answers.push_back({k.provider, k.algorithm, k.source, k.passed, k.detail});
  }
  for (const LeftOut& l : registry.left_out()) {
    record.absent.push_back({l.provider, l.algorithm, l.reason});
  }
}

Result<void> chains_and_tokens(const RunSession& session, Record& record, Progress& progress) {
  const auto shown = [&](std::string_view kind) {
    return [&progress, kind](size_t done, size_t of, std::string_view next) {
      progress.step(std::format("{} {} of {}: {}", kind, done + 1, of, next));
    };
  };
  if (session.chosen.chains && !session.cancelled()) {
    ChainRunOptions options = session.arguments.flights;
    options.progress = shown("chain");
    options.cancel = session.cancel;
    if (auto done = run_chains(options, record); !done) return done;
  }
  if (session.chosen.tokens && !session.cancelled()) {
    TokenRunOptions options;
    options.registry = &session.registry;
    options.progress = shown("token");
    options.cancel = session.cancel;
    if (auto done = run_tokens(options, record); !done) return done;
  }
  return {};
}

// The marks of the monitor: one before the first suite, one after each.
void withhold_disturbed(Record& record, const NoiseMonitor& monitor) {
  const std::vector<double>& marks = monitor.references();
  const double usual = record.environment.noise.reference_us.value_or(0);
  size_t at = 0;
  for (TrackRecord& track : record.tracks) {
    for (SuiteRecord& suite : track.suites) {
      if (at + 1 >= marks.size() || usual <= 0) return;
      if (!suite.withheld && suite.absent.empty()) {
        suite.withheld = withhold_between(marks[at], marks[at + 1], usual);
      }
      ++at;
    }
  }
}

// Nothing is compared with a baseline that does not count.
void drop_lost_baselines(Record& record) {
  for (TrackRecord& track : record.tracks) {
    const bool lost = std::ranges::any_of(
        track.suites, [](const SuiteRecord& s) { return s.baseline && s.withheld.has_value(); });
    if (!lost) continue;
    for (SuiteRecord& suite : track.suites) suite.against_baseline.reset();
  }
}

}  // namespace

RunResult run_once(const RunSession& session, std::optional<CorePin>& pin, Progress& progress) {
  RunResult out;
  Record& record = out.record;
  record.id = new_record_id();
  add_registry(session.registry, record);
  record.environment = environment({.command_line = session.command_line,
                                    .host_name = session.arguments.host_name,
                                    .pinned_core = pin->core(),
                                    .providers = libraries_of(session.registry)});
  NoiseMonitor monitor = NoiseMonitor::begin(pin->core());
  const TrackRunHooks hooks{.progress = &progress, .between_suites = [&] { monitor.mark(); }};
  out.failed = session.plan.measure(record, hooks);
  add_noise(record.environment, monitor);
  withhold_disturbed(record, monitor);
  drop_lost_baselines(record);
  if (!session.chosen.tracks.empty()) {
    record.withheld =
        withhold_run(record.environment.noise, record.environment.host.cpu.logical_cores);
  }
  pin.reset();
  if (!session.cancelled()) out.failed += session.plan.throughput(record, hooks);
  if (auto done = chains_and_tokens(session, record, progress); !done) {
    progress.note(done.error().message);
    ++out.failed;
  }
  if (session.cancelled()) record.complete = false;
  return out;
}

}  // namespace pqedge::pqcost
