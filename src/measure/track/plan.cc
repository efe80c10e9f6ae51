// Which suites a run measures, with which libraries, and how long that will take.
#include "measure/track/plan.h"

#include <algorithm>
#include <format>

#include "base/problem.h"
#include "measure/provider/catalogue.h"

namespace pqedge::measure {

namespace {

constexpr std::string_view kDefaultProvider = "OpenSSL";

double to_seconds(Nanos time) { return static_cast<double>(time) / static_cast<double>(kSecond); }

// What sample() will take for an operation of so many seconds with its preparation.
double loop_seconds(double each, const SamplingLimits& limits) {
  const double warm_up = std::min(each * static_cast<double>(limits.warm_ups),
                                  std::max(each, to_seconds(limits.warm_up_time)));
  const double timed =
      std::min(each * static_cast<double>(limits.iterations), to_seconds(limits.time) + each);
  return warm_up + std::max(timed, each * static_cast<double>(limits.least));
}

// Once; again when that was quick, since a first call may load tables.
Result<double> try_operation(const Operation& operation) {
  double seconds = 0;
  for (int i = 0; i < 2; ++i) {
    const Nanos begin = monotonic_now();
    if (operation.prepare) {
      if (auto done = operation.prepare(); !done) return std::unexpected(done.error());
    }
    if (auto done = operation.run(); !done) return std::unexpected(done.error());
    seconds = to_seconds(monotonic_now() - begin);
    if (seconds > 0.02) break;
  }
  return seconds;
}

template <typename Words>
std::string joined(const Words& words) {
  std::string out;
  for (const std::string_view word : words) out += (out.empty() ? "" : ", ") + std::string(word);
  return out;
}

// Of the primitives, when they are done by different code: each with its name.
std::string what_ran(const std::vector<std::string_view>& algorithms, const Provider& provider,
                     std::string Implementation::* member) {
  std::vector<std::string> each;
  bool same = true;
  for (const std::string_view algorithm : algorithms) {
    each.push_back(provider.implementation(algorithm).*member);
    same &= each.back() == each.front();
  }
  if (same) return each.empty() ? std::string() : each.front();
  std::string out;
  for (size_t i = 0; i < each.size(); ++i) {
    out += std::format("{}{}: {}", i == 0 ? "" : "; ", algorithms[i], each[i]);
  }
  return out;
}

}  // namespace

double TrackPlan::Planned::seconds() const {
  double sum = exchange_seconds;
  for (const double phase : phase_seconds) sum += phase;
  return sum;
}

bool TrackPlan::cancelled() const {
  return options_.limits.cancel != nullptr && options_.limits.cancel->load();
}

Result<void> check_suites(const std::vector<Track>& tracks,
                          const std::vector<std::string>& suites) {
  std::vector<std::string_view> known;
  for (const Track track : tracks) {
    const auto more = suite_names(track);
    known.insert(known.end(), more.begin(), more.end());
  }
  for (const std::string& name : suites) {
    if (std::ranges::any_of(known, [&](const auto& k) { return iequals(k, name); })) continue;
    const std::string hint = did_you_mean(name, known);
    return fail("no suite of these tracks is called {}{}", in_quotes(name),
                hint.empty() ? "; there are " + joined(known) : ": " + hint);
  }
  return {};
}

Result<void> TrackPlan::check_providers() const {
  std::vector<std::string> libraries;
  for (const auto& provider : registry_->providers()) libraries.push_back(provider->facts().name);
  for (const std::string& name : options_.providers) {
    if (registry_->find(name) != nullptr) continue;
    for (const LeftOut& left : registry_->left_out()) {
      if (iequals(left.provider, name) && left.algorithm.empty()) {
        return fail("{} is left out: {}", left.provider, left.reason);
      }
    }
    return fail("no library is called {} here; there are {}", in_quotes(name), joined(libraries));
  }
  return {};
}

std::vector<Provider*> TrackPlan::providers_for(
    const std::vector<std::string_view>& algorithms) const {
  std::vector<Provider*> all;
  for (Provider* provider : registry_->offering(algorithms.front())) {
    const bool offers_rest = std::ranges::all_of(algorithms, [&](std::string_view algorithm) {
      return std::ranges::contains(registry_->offering(algorithm), provider);
    });
    if (offers_rest) all.push_back(provider);
  }
  if (options_.all_providers || all.empty()) return all;
  if (options_.providers.empty()) {
    const auto preferred = std::ranges::find_if(
        all, [](const Provider* p) { return p->facts().name == kDefaultProvider; });
    return {preferred == all.end() ? all.front() : *preferred};
  }
  std::erase_if(all, [&](const Provider* p) {
    return std::ranges::none_of(options_.providers,
                                [&](const auto& name) { return iequals(name, p->facts().name); });
  });
  return all;
}

void TrackPlan::add(Track track, SuiteRecord facts, const std::vector<std::string_view>& algorithms,
                    const std::function<Result<Work>(Provider&)>& make) {
  const std::vector<Provider*> providers = providers_for(algorithms);
  if (providers.empty()) {
    std::string all;
    for (const std::string_view algorithm : algorithms) {
      all += std::format("{}{}", all.empty() ? "" : " and ", algorithm);
    }
    facts.absent = options_.providers.empty()
                       ? std::format("no library here offers {}", all)
                       : std::format("{} here: {} not offered", joined(options_.providers), all);
    planned_.push_back({.track = track, .facts = std::move(facts), .work = std::nullopt});
    return;
  }
  for (Provider* provider : providers) {
    if (cancelled()) return;
    Planned planned{.track = track, .facts = facts, .work = std::nullopt};
    planned.facts.provider = provider->facts().name;
    planned.facts.provider_version = provider->facts().version;
    planned.facts.code = what_ran(algorithms, *provider, &Implementation::code);
    planned.facts.keys = what_ran(algorithms, *provider, &Implementation::keys);
    auto work = make(*provider);
    Result<void> tried;
    if (work) {
      planned.work = std::move(*work);
      tried = probe(planned);
    } else {
      tried = std::unexpected(work.error());
    }
    if (!tried) {
      planned.work.reset();
      planned.facts.absent =
          std::format("{} failed: {}", planned.facts.provider, tried.error().message);
    }
    planned_.push_back(std::move(planned));
  }
}

void TrackPlan::add_kex(Track track, const KexSuite& suite) {
  if (!selected(options_.suites, suite.name, suite.baseline)) return;
  SuiteRecord facts{.name = std::string(suite.name),
                    .family = std::string(family_of(suite)),
                    .baseline = suite.baseline,
                    .note = std::string(suite.note)};
  if (suite.code != 0) facts.code_point = suite.code;
  std::vector<std::string_view> algorithms;
  if (!suite.kem.empty()) algorithms.push_back(suite.kem);
  if (!suite.classical.empty()) algorithms.push_back(suite.classical);
  add(track, std::move(facts), algorithms,
      [&](Provider& provider) { return kex_work(track, suite, provider); });
}

void TrackPlan::add_primitive(Track track, const PrimitiveSuite& suite, Kind kind) {
  if (!selected(options_.suites, suite.name, suite.baseline)) return;
  SuiteRecord facts{
      .name = std::string(suite.name), .baseline = suite.baseline, .note = std::string(suite.note)};
  if (const CatalogueEntry* entry = find_algorithm(suite.name)) {
    facts.family = family_name(entry->family);
  }
  add(track, std::move(facts), {suite.name}, [&](Provider& provider) {
    return kind == Kind::aead ? bulk_work(suite, provider) : signature_work(suite, provider);
  });
}

Result<void> TrackPlan::probe(Planned& planned) const {
  for (const TimedPhase& phase : planned.work->phases) {
    if (cancelled()) return {};
    const auto seconds = try_operation(phase.operation);
    if (!seconds) return std::unexpected(seconds.error());
    planned.phase_seconds.push_back(loop_seconds(*seconds, options_.limits));
  }
  if (!planned.work->composed) return {};
  const auto exchange = planned.work->new_exchange();
  if (!exchange) return std::unexpected(exchange.error());
  const auto seconds = try_operation(*exchange);
  if (!seconds) return std::unexpected(seconds.error());
  planned.exchange_seconds = loop_seconds(*seconds, options_.limits);
  return {};
}

Result<TrackPlan> TrackPlan::make(const Registry& registry, TrackRunOptions options) {
  TrackPlan plan(registry, std::move(options));
  const TrackRunOptions& o = plan.options_;
  if (auto good = check_suites(o.tracks, o.suites); !good) return std::unexpected(good.error());
  if (auto good = plan.check_providers(); !good) return std::unexpected(good.error());
  for (const Track track : plan.options_.tracks) {
    for (const KexSuite& suite : kex_suites(track)) plan.add_kex(track, suite);
    if (track == Track::signatures) {
      for (const PrimitiveSuite& s : signature_suites()) {
        plan.add_primitive(track, s, Kind::signature);
      }
    }
    if (track == Track::bulk) {
      for (const PrimitiveSuite& s : bulk_suites()) plan.add_primitive(track, s, Kind::aead);
    }
  }
  return plan;
}

double TrackPlan::seconds() const {
  double sum = 0;
  for (const Planned& planned : planned_) sum += planned.work ? planned.seconds() : 0;
  return sum;
}

double TrackPlan::throughput_seconds() const {
  const auto count = std::ranges::count_if(
      planned_, [](const Planned& p) { return p.work && p.work->new_exchange; });
  return static_cast<double>(count) * static_cast<double>(options_.threads.size()) *
         to_seconds(options_.throughput_time);
}

}  // namespace pqedge::measure
