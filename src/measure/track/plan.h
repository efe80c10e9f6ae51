// A run of the tracks: which suites with which providers, how long it will take, and then the
// measurement itself.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "measure/provider/registry.h"
#include "measure/record/record.h"
#include "measure/timing/progress.h"
#include "measure/track/catalog.h"
#include "measure/track/runner.h"
#include "measure/track/work.h"

namespace pqedge::measure {

struct TrackRunOptions {
  std::vector<Track> tracks;
  // Names of libraries. Empty: OpenSSL, and for what it does not offer the first that does.
  std::vector<std::string> providers;
  bool all_providers = false;       // every library that offers all a suite needs
  std::vector<std::string> suites;  // by name; empty: all. The baselines are measured too.
  SamplingLimits limits;
  bool keep_samples = false;
  std::vector<unsigned> threads;  // throughput with so many; empty: none
  std::vector<int> cores;         // for those threads
  Nanos throughput_time = kSecond / 2;
};

// What else is done while a run goes on.
struct TrackRunHooks {
  Progress* progress = nullptr;
  std::function<void()> between_suites;  // NoiseMonitor::mark(), say
};

// Whether each name is that of a suite of these tracks: can be asked before libraries are loaded.
Result<void> check_suites(const std::vector<Track>& tracks, const std::vector<std::string>& suites);

class TrackPlan {
 public:
  // Makes keys for every suite and tries each operation once or twice, to know how long it takes.
  // An unknown suite or library is an error that names those there are. `registry` is kept.
  static Result<TrackPlan> make(const Registry& registry, TrackRunOptions options);

  double seconds() const;             // that measure() is expected to take
  double throughput_seconds() const;  // that throughput() will take
  size_t suites() const { return planned_.size(); }

  // Appends a TrackRecord a track. Cancelled: what was done stays, record.complete is false.
  // May be called again, for another record. The result is how many suites failed: each is recorded
  // as absent, with the reason.
  size_t measure(Record& record, const TrackRunHooks& hooks) const;

  // Fills in TrackRecord::throughput of the tracks that measure() made. Not while pinned.
  size_t throughput(Record& record, const TrackRunHooks& hooks) const;

 private:
  struct Planned {
    Track track;
    SuiteRecord facts;
    std::optional<Work> work;           // none: absent
    std::vector<double> phase_seconds;  // expected for each loop
    double exchange_seconds = 0;
    double seconds() const;
  };
  using Baselines = std::map<std::string, std::vector<double>>;  // composed samples, by provider

  TrackPlan(const Registry& registry, TrackRunOptions options)
      : registry_(&registry), options_(std::move(options)) {}

  Result<void> check_providers() const;
  std::vector<Provider*> providers_for(const std::vector<std::string_view>& algorithms) const;
  void add_kex(Track track, const KexSuite& suite);
  void add_primitive(Track track, const PrimitiveSuite& suite, Kind kind);
  void add(Track track, SuiteRecord facts, const std::vector<std::string_view>& algorithms,
           const std::function<Result<Work>(Provider&)>& make);
  Result<void> probe(Planned& planned) const;
  bool cancelled() const;
  bool measure_one(const Planned& planned, SuiteRecord& out, Baselines& baselines,
                   const TrackRunHooks& hooks) const;
  bool throughput_one(const Planned& planned, TrackRecord& track, const TrackRunHooks& hooks) const;

  const Registry* registry_;
  TrackRunOptions options_;
  std::vector<Planned> planned_;
};

}  // namespace pqedge::measure
