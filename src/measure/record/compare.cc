#include "measure/record/compare.h"

#include <algorithm>
#include <cmath>
#include <format>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

#include "measure/track/compose.h"

namespace pqedge::measure {
namespace {

// One figure in one run.
struct Seen {
  const Record* record;
  const SuiteRecord* suite;
  const Summary* figures;
  std::vector<double> samples;  // empty: not kept
};

struct Key {
  std::string track, suite, provider, figure;
  auto operator<=>(const Key&) const = default;
};
using Figures = std::map<Key, std::vector<Seen>>;

// As they were composed when the record was made (M7). Empty unless every phase kept its samples.
std::vector<double> composed_samples(const SuiteRecord& suite) {
  std::vector<PhaseSamples> phases;
  for (const PhaseRecord& p : suite.phases) {
    if (p.samples_us.empty() || p.weight != std::floor(p.weight) || p.weight > 100) return {};
    const Side side = p.side == "client"   ? Side::client
                      : p.side == "server" ? Side::server
                                           : Side::both;
    phases.push_back(
        {{.name = p.name, .side = side, .weight = static_cast<unsigned>(p.weight)}, p.samples_us});
  }
  if (phases.empty()) return {};
  cut_to_shortest(phases);
  return compose(phases).composed;
}

void collect(Figures& all, const Record& record, const TrackRecord& track,
             const SuiteRecord& suite) {
  if (!suite.absent.empty()) return;
  const auto add = [&](const std::string& figure, const Summary& figures,
                       std::vector<double> samples) {
    all[{track.name, suite.name, suite.provider, figure}].push_back(
        {&record, &suite, &figures, std::move(samples)});
  };
  if (suite.composed) return add("composed", *suite.composed, composed_samples(suite));
  for (const PhaseRecord& phase : suite.phases) add(phase.name, phase.figures, phase.samples_us);
}

Figures collect(std::span<const Record* const> records) {
  Figures all;
  for (const Record* record : records) {
    for (const TrackRecord& track : record->tracks) {
      for (const SuiteRecord& suite : track.suites) collect(all, *record, track, suite);
    }
  }
  return all;
}

// ---- whether the runs can be compared at all ----------------------------------------------------

std::vector<const Record*> usable(std::span<const Record> records, std::string_view side,
                                  Comparison& to) {
  std::vector<const Record*> good;
  std::string reason;
  for (const Record& record : records) {
    if (!record.withheld) {
      good.push_back(&record);
    } else if (reason.empty()) {
      reason = record.withheld->reason;
    }
  }
  const size_t withheld = records.size() - good.size();
  if (records.empty()) {
    to.reasons.push_back(std::format("{} holds no record", side));
  } else if (good.empty()) {
    to.reasons.push_back(std::format("{} is withheld: {}", side, reason));
  } else if (withheld > 0) {
    to.notes.push_back(std::format("{}: {} of {} runs are left out, withheld: {}", side, withheld,
                                   records.size(), reason));
  }
  std::ranges::sort(good, {}, [](const Record* r) { return r->environment.date; });
  return good;
}

std::string joined(const std::set<std::string>& texts) {
  std::string out;
  for (const std::string& t : texts) out += (out.empty() ? "" : ", ") + t;
  return out;
}

// All values of one fact on one side.
template <typename Fact>
std::set<std::string> values(std::span<const Record* const> records, Fact&& fact) {
  std::set<std::string> all;
  for (const Record* record : records) all.insert(fact(record->environment));
  return all;
}

std::string libraries_of(const Environment& e) {
  std::string out;
  for (const Library& l : e.libraries) out += (out.empty() ? "" : ", ") + l.name + ' ' + l.version;
  return out;
}

void compare_hosts(std::span<const Record* const> a, std::span<const Record* const> b,
                   Comparison& to) {
  using Fact = std::string (*)(const Environment&);
  constexpr Fact kHost = [](const Environment& e) { return e.host.name + " (" + e.host.id + ')'; };
  constexpr Fact kCpu = [](const Environment& e) {
    return e.host.cpu.model + ", " + e.host.cpu.architecture;
  };
  for (const auto& [what, fact] : {std::pair{"hosts", kHost}, std::pair{"processors", kCpu}}) {
    std::set<std::string> both = values(a, fact);
    both.merge(values(b, fact));
    if (both.size() > 1) {
      to.reasons.push_back(std::format("the runs are of different {}: {}", what, joined(both)));
      return;  // another host has another processor: once is enough
    }
  }
  constexpr std::pair<const char*, Fact> kNoted[] = {
      {"commit", [](const Environment& e) { return e.commit; }},
      {"compiler", [](const Environment& e) { return e.compiler + ' ' + e.compiler_flags; }},
      {"kernel", [](const Environment& e) { return e.host.kernel; }},
      {"libraries", &libraries_of},
      {"governor", [](const Environment& e) { return e.host.cpu.governor.value_or("unknown"); }},
      {"pinned core", [](const Environment& e) {
         return e.pinned_core ? std::to_string(*e.pinned_core) : std::string("none");
       }}};
  for (const auto& [what, fact] : kNoted) {
    const auto before = values(a, fact);
    const auto after = values(b, fact);
    if (before != after) {
      to.notes.push_back(
          std::format("{}: {} before, {} after", what, joined(before), joined(after)));
    }
  }
}

// ---- the interval of one figure -----------------------------------------------------------------

struct Estimate {
  Ratio ratio;
  std::string evidence;
};

std::vector<double> medians(const std::vector<Seen>& runs) {
  std::vector<double> out;
  for (const Seen& s : runs) out.push_back(s.figures->median_us);
  return out;
}

Estimate by_runs(const std::vector<double>& a, const std::vector<double>& b) {
  return {ratio_of_medians(a, b),
          std::format("{} and {} runs: 95 % interval of the ratio of their medians by bootstrap",
                      a.size(), b.size())};
}

Estimate by_ranges(const std::vector<double>& a, const std::vector<double>& b) {
  Ratio r{.value = median(b) / median(a)};
  r.ci95 = {std::ranges::min(b) / std::ranges::max(a), std::ranges::max(b) / std::ranges::min(a)};
  return {r, std::format("{} and {} runs: from the extremes, since an interval takes {} a side",
                         a.size(), b.size(), Range::kLeastRuns)};
}

// Of means, from their standard errors (the variance of a quotient, to the first order). Centred on
// the ratio of medians when that lies further out.
Ratio by_means(const Summary& a, const Summary& b) {
  const double mean = b.mean_us / a.mean_us;
  const auto variance = [](const Summary& s) {
    const double relative = s.stdev_us / s.mean_us;
    return relative * relative / static_cast<double>(s.iterations);
  };
  const double half = 1.96 * mean * std::sqrt(variance(a) + variance(b));
  Ratio r{.value = b.median_us / a.median_us};
  r.ci95 = {std::min(r.value, mean) - half, std::max(r.value, mean) + half};
  r.ci95.first = std::max(r.ci95.first, 0.0);
  return r;
}

// How far the same code may differ between two single runs: the reference loop's spread in each,
// and the change of its time from one to the other.
double drift(const NoiseFacts& a, const NoiseFacts& b) {
  double drift = (a.spread_percent + b.spread_percent) / 100;
  if (a.reference_us && b.reference_us && *a.reference_us > 0 && *b.reference_us > 0) {
    const double change = *b.reference_us / *a.reference_us;
    drift += std::max(change, 1 / change) - 1;
  }
  return drift;
}

Estimate by_one_run(const Seen& a, const Seen& b) {
  Estimate e;
  const bool samples = a.samples.size() > 1 && b.samples.size() > 1;
  e.ratio = samples ? ratio_of_medians(a.samples, b.samples) : by_means(*a.figures, *b.figures);
  const double wider = 1 + drift(a.record->environment.noise, b.record->environment.noise);
  e.ratio.ci95.first /= wider;
  e.ratio.ci95.second *= wider;
  e.evidence = std::format(
      "one run a side, {} and {} iterations: 95 % interval {}, {:.1f} % wider for the hosts' drift",
      a.figures->iterations, b.figures->iterations,
      samples ? "of the ratio of medians by bootstrap" : "from means and deviations",
      (wider - 1) * 100);
  return e;
}

Estimate estimate(const std::vector<Seen>& a, const std::vector<Seen>& b) {
  if (a.size() < 2 || b.size() < 2) return by_one_run(a.back(), b.back());
  const auto before = medians(a);
  const auto after = medians(b);
  if (std::min(a.size(), b.size()) >= Range::kLeastRuns) return by_runs(before, after);
  return by_ranges(before, after);
}

Verdict judge(const Ratio& ratio, double threshold) {
  if (ratio.ci95.first > 1 && ratio.value > threshold) return Verdict::regression;
  if (ratio.ci95.second < threshold) return Verdict::none;
  return Verdict::cannot_tell;
}

// Why two suites of one name are not the same thing measured twice; empty when they are.
std::string difference(const std::vector<Seen>& a, const std::vector<Seen>& b) {
  std::set<std::string> codes;
  std::set<std::string> keys;
  for (const auto* side : {&a, &b}) {
    for (const Seen& s : *side) {
      codes.insert(s.suite->code);
      keys.insert(s.suite->keys);
    }
  }
  if (codes.size() > 1) return "different code ran: " + joined(codes);
  if (keys.size() > 1) return "keys were held differently: " + joined(keys);
  return {};
}

// Without the runs in which this suite was withheld.
std::vector<Seen> kept(const std::vector<Seen>& runs, std::string& reason) {
  std::vector<Seen> out;
  for (const Seen& s : runs) {
    if (!s.suite->withheld) {
      out.push_back(s);
    } else {
      reason = s.suite->withheld->reason;
    }
  }
  return out;
}

// The phases that grew most, when both kept their figures.
std::string growth(const SuiteRecord& a, const SuiteRecord& b) {
  const PhaseRecord* most = nullptr;
  double by = 0;
  for (const PhaseRecord& after : b.phases) {
    const auto before = std::ranges::find(a.phases, after.name, &PhaseRecord::name);
    if (before == a.phases.end()) continue;
    const double more =
        after.weight * after.figures.median_us - before->weight * before->figures.median_us;
    if (more > by) {
      by = more;
      most = &after;
    }
  }
  return most == nullptr ? "" : std::format("; most in {}: {:+.1f} us", most->name, by);
}

Finding judge_figure(const Key& key, const std::vector<Seen>& all_a, const std::vector<Seen>& all_b,
                     double threshold) {
  Finding f{.track = key.track, .suite = key.suite, .provider = key.provider, .figure = key.figure};
  std::string withheld;
  const auto a = kept(all_a, withheld);
  const auto b = kept(all_b, withheld);
  if (a.empty() || b.empty()) {
    f.evidence = "withheld: " + withheld;
    return f;
  }
  f.before = median(medians(a));
  f.after = median(medians(b));
  f.evidence = difference(a, b);
  if (!f.evidence.empty()) return f;
  if (std::ranges::any_of(a, [](const Seen& s) { return s.figures->median_us <= 0; })) {
    f.evidence = "a median of 0 is below what the clock can tell";
    return f;
  }
  Estimate e = estimate(a, b);
  f.ratio = e.ratio;
  f.verdict = judge(e.ratio, threshold);
  f.evidence = std::move(e.evidence);
  if (f.verdict == Verdict::regression) f.evidence += growth(*a.back().suite, *b.back().suite);
  return f;
}

// ---- bytes
// ----------------------------------------------------------------------------------------

// The latest run's, by track and suite: bytes depend on neither host nor provider.
std::map<std::pair<std::string, std::string>, size_t> wire_bytes(std::span<const Record> records) {
  std::vector<const Record*> ordered;
  for (const Record& r : records) ordered.push_back(&r);
  std::ranges::sort(ordered, {}, [](const Record* r) { return r->environment.date; });
  std::map<std::pair<std::string, std::string>, size_t> all;
  for (const Record* record : ordered) {
    for (const TrackRecord& track : record->tracks) {
      for (const SuiteRecord& s : track.suites) {
        if (s.wire_bytes.total() > 0) all[{track.name, s.name}] = s.wire_bytes.total();
      }
    }
  }
  return all;
}

void compare_bytes(std::span<const Record> a, std::span<const Record> b, Comparison& to) {
  const auto after = wire_bytes(b);
  for (const auto& [key, bytes] : wire_bytes(a)) {
    const auto it = after.find(key);
    if (it == after.end() || it->second == bytes) continue;
    to.findings.push_back({.track = key.first,
                           .suite = key.second,
                           .figure = "wire bytes",
                           .verdict = it->second > bytes ? Verdict::regression : Verdict::none,
                           .before = static_cast<double>(bytes),
                           .after = static_cast<double>(it->second),
                           .evidence = "counted, not timed: exact"});
  }
}

// ---- the whole ----------------------------------------------------------------------------------

void compare_figures(const Figures& a, const Figures& b, double threshold, Comparison& to) {
  std::set<std::string> tracks_a;
  std::set<std::string> tracks_b;
  for (const auto& [key, runs] : a) tracks_a.insert(key.track);
  for (const auto& [key, runs] : b) tracks_b.insert(key.track);
  std::set<std::string> only_one;
  std::ranges::set_symmetric_difference(tracks_a, tracks_b,
                                        std::inserter(only_one, only_one.end()));
  for (const std::string& track : only_one) {
    to.notes.push_back(std::format("track {} is {} only, it is not compared", track,
                                   tracks_a.contains(track) ? "before" : "after"));
  }
  for (const auto& [key, runs] : a) {
    if (only_one.contains(key.track)) continue;
    const auto it = b.find(key);
    if (it != b.end()) {
      to.findings.push_back(judge_figure(key, runs, it->second, threshold));
    } else {
      to.findings.push_back({.track = key.track,
                             .suite = key.suite,
                             .provider = key.provider,
                             .figure = key.figure,
                             .evidence = "not measured after with this provider"});
    }
  }
  for (const auto& [key, runs] : b) {
    if (only_one.contains(key.track) || a.contains(key)) continue;
    to.notes.push_back(std::format("{} {} of {} ({}) is new, it is not compared", key.suite,
                                   key.figure, key.provider, key.track));
  }
}

Verdict overall(const Comparison& c) {
  const auto any = [&c](Verdict v) {
    return std::ranges::any_of(c.findings, [v](const Finding& f) { return f.verdict == v; });
  };
  if (any(Verdict::regression)) return Verdict::regression;
  if (!c.reasons.empty() || c.findings.empty() || any(Verdict::cannot_tell)) {
    return Verdict::cannot_tell;
  }
  return Verdict::none;
}

}  // namespace

std::string_view verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::none:
      return "none";
    case Verdict::regression:
      return "regression";
    case Verdict::cannot_tell:
      break;
  }
  return "cannot tell";
}

Comparison compare(std::span<const Record> before, std::span<const Record> after,
                   const CompareOptions& options) {
  Comparison c;
  const auto a = usable(before, "before", c);
  const auto b = usable(after, "after", c);
  if (!a.empty() && !b.empty()) compare_hosts(a, b, c);
  if (c.reasons.empty()) {
    compare_figures(collect(a), collect(b), 1 + options.threshold_percent / 100, c);
    if (c.findings.empty()) c.reasons.push_back("the runs have no figure in common");
  }
  compare_bytes(before, after, c);
  c.verdict = overall(c);
  return c;
}

}  // namespace pqedge::measure
