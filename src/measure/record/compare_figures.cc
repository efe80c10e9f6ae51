#include "measure/record/compare_figures.h"

#include <algorithm>
#include <cmath>
#include <format>
#include <iterator>

#include "measure/track/compose.h"

namespace pqedge::measure {
namespace {

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

Finding judge_figure(const FigureKey& key, const std::vector<Seen>& all_a,
                     const std::vector<Seen>& all_b, double threshold) {
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

}  // namespace

Figures collect_figures(std::span<const Record* const> records) {
  Figures all;
  for (const Record* record : records) {
    for (const TrackRecord& track : record->tracks) {
      for (const SuiteRecord& suite : track.suites) collect(all, *record, track, suite);
    }
  }
  return all;
}

std::string joined(const std::set<std::string>& texts) {
  std::string out;
  for (const std::string& t : texts) out += (out.empty() ? "" : ", ") + t;
  return out;
}

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

}  // namespace pqedge::measure
