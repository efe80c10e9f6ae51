#include "measure/report/model.h"

#include <algorithm>
#include <filesystem>

namespace pqedge::measure::report {

Model::Model(const History& history) : series_(series_of(history)) {
  runs_.reserve(history.entries.size());
  for (const HistoryEntry& entry : history.entries) {
    runs_.push_back({0, &entry.record, std::filesystem::path(entry.path).filename().string()});
  }
  // RFC 3339 dates in UTC sort as text.
  std::ranges::stable_sort(runs_, [](const Run& a, const Run& b) {
    return a.record->environment.date > b.record->environment.date;
  });
  for (size_t i = 0; i < runs_.size(); ++i) {
    Run& run = runs_[i];
    run.number = i + 1;
    by_id_.emplace(run.record->id, &run);
    const HostFacts& facts = run.record->environment.host;
    auto host = std::ranges::find(hosts_, facts.id, &Host::id);
    if (host == hosts_.end()) host = hosts_.insert(host, Host{facts.id, facts.name, {}, {}});
    host->runs.push_back(&run);
  }
  for (const Series& series : series_) {
    const auto host = std::ranges::find(hosts_, series.key.host_id, &Host::id);
    if (host != hosts_.end()) host->series.push_back(&series);
  }
}

const Run* Model::run_of(std::string_view record_id) const {
  const auto found = by_id_.find(record_id);
  return found == by_id_.end() ? nullptr : found->second;
}

Shown shown_run(const Host& host, const std::function<bool(const Record&)>& has_data) {
  const Run* newest_withheld = nullptr;
  for (const Run* run : host.runs) {
    if (!has_data(*run->record)) continue;
    if (!run->record->withheld) return {run, newest_withheld};
    if (newest_withheld == nullptr) newest_withheld = run;
  }
  return {newest_withheld, nullptr};
}

const TrackRecord* find_track(const Record& record, std::string_view name) {
  const auto found = std::ranges::find(record.tracks, name, &TrackRecord::name);
  return found == record.tracks.end() || found->suites.empty() ? nullptr : &*found;
}

std::vector<std::string> track_names(const Host& host) {
  std::vector<std::string> names;
  for (const std::string_view usual : {"tls", "ssh", "ipsec", "signatures", "bulk"}) {
    const bool there = std::ranges::any_of(
        host.runs, [&](const Run* run) { return find_track(*run->record, usual) != nullptr; });
    if (there) names.emplace_back(usual);
  }
  for (const Run* run : host.runs) {
    for (const TrackRecord& track : run->record->tracks) {
      if (!track.suites.empty() && !std::ranges::contains(names, track.name)) {
        names.push_back(track.name);
      }
    }
  }
  return names;
}

bool is_exchange(const TrackRecord& track) {
  return std::ranges::any_of(track.suites,
                             [](const SuiteRecord& suite) { return suite.composed.has_value(); });
}

std::string withheld_reason(const Record& record, const SuiteRecord& suite) {
  if (record.withheld) return record.withheld->reason;
  return suite.withheld ? suite.withheld->reason : std::string();
}

std::string suite_label(const SuiteRecord& suite) {
  return suite.provider.empty() ? suite.name : suite.name + ", " + suite.provider;
}

Change change_of(const Model& model, const Host& host, std::string_view track,
                 const SuiteRecord& suite, const Run& shown) {
  Change change;
  if (!suite.absent.empty()) return change;
  if (suite.baseline) {
    change.kind = Change::Kind::baseline;
    return change;
  }
  change.reason = withheld_reason(*shown.record, suite);
  const auto series = std::ranges::find_if(host.series, [&](const Series* one) {
    return one->key.track == track && one->key.suite == suite.name &&
           one->key.provider == suite.provider &&
           one->key.provider_version == suite.provider_version && one->key.code == suite.code &&
           one->key.figure == "composed";
  });
  if (series != host.series.end()) {
    for (const SeriesPoint& point : (*series)->points) {
      if (!point.withheld.empty() || !point.ratio_to_baseline) continue;
      ++change.runs;
      change.latest.value = *point.ratio_to_baseline;
      change.latest.ci95 = {};
      change.latest_run = model.run_of(point.record_id);
    }
  }
  // The interval within one run is in that run's record.
  if (change.latest_run == &shown && suite.against_baseline)
    change.latest = *suite.against_baseline;
  if (series != host.series.end() && (*series)->ratio_to_baseline) {
    change.kind = Change::Kind::range;
    change.range = *(*series)->ratio_to_baseline;
  } else if (!change.reason.empty()) {
    change.kind = Change::Kind::withheld;
  } else if (change.runs > 0) {
    change.kind = Change::Kind::single;
  }
  return change;
}

}  // namespace pqedge::measure::report
