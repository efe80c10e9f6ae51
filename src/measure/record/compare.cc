#include "measure/record/compare.h"

#include <algorithm>
#include <format>
#include <map>
#include <set>

#include "measure/record/compare_figures.h"

namespace pqedge::measure {
namespace {

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

// ---- bytes --------------------------------------------------------------------------------------

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
    case Verdict::none: return "none";
    case Verdict::regression: return "regression";
    case Verdict::cannot_tell: break;
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
    compare_figures(collect_figures(a), collect_figures(b), 1 + options.threshold_percent / 100, c);
    if (c.findings.empty()) c.reasons.push_back("the runs have no figure in common");
  }
  compare_bytes(before, after, c);
  c.verdict = overall(c);
  return c;
}

}  // namespace pqedge::measure
