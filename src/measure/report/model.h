// The records of a report, arranged as its page shows them: by host, newest first, with the runs
// that may be compared apart from those that are withheld (M9, M17).
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "measure/record/history.h"
#include "measure/record/record.h"

namespace pqedge::measure::report {

struct Run {
  size_t number = 0;  // 1 is the newest of the page: its anchor is #run-1
  const Record* record = nullptr;
  std::string file;  // where it was read from, without folders
};

struct Host {
  std::string id;
  std::string name;
  std::vector<const Run*> runs;       // newest first
  std::vector<const Series*> series;  // of this host's runs, points oldest first
};

// What may be said of a suite beside its baseline (M9).
struct Change {
  enum class Kind { none, baseline, range, single, withheld };
  Kind kind = Kind::none;
  Range range;   // Kind::range: of the ratios of all runs that count
  Ratio latest;  // Kind::single and Kind::range, of latest_run
  const Run* latest_run = nullptr;
  size_t runs = 0;     // that count
  std::string reason;  // why the shown run's own figure is withheld; empty: it is not
};

class Model {
 public:
  // The history must outlive the model.
  explicit Model(const History& history);
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  const std::vector<Host>& hosts() const { return hosts_; }  // that of the newest run first
  const std::vector<Run>& runs() const { return runs_; }     // newest first
  const Run* run_of(std::string_view record_id) const;       // null: none

 private:
  std::vector<Run> runs_;
  std::vector<Series> series_;
  std::vector<Host> hosts_;
  std::map<std::string, const Run*, std::less<>> by_id_;
};

// The run of a host that a section shows: the newest with the section's data that is not withheld,
// or, where all are, the newest.
struct Shown {
  const Run* run = nullptr;             // null: no run has such data
  const Run* newer_withheld = nullptr;  // a newer one, passed over
};
Shown shown_run(const Host& host, const std::function<bool(const Record&)>& has_data);

// Null: the record has no such track, or an empty one.
const TrackRecord* find_track(const Record& record, std::string_view name);
// Of all runs of the host: the usual ones in their order, then others.
std::vector<std::string> track_names(const Host& host);

// Whether its suites are exchanges with a composed total, or single operations (signatures, bulk).
bool is_exchange(const TrackRecord& track);

Change change_of(const Model& model, const Host& host, std::string_view track,
                 const SuiteRecord& suite, const Run& shown);

// Why the figures of this suite in this run are not compared; empty: they are.
std::string withheld_reason(const Record& record, const SuiteRecord& suite);

std::string suite_label(const SuiteRecord& suite);  // "X25519, OpenSSL"

}  // namespace pqedge::measure::report
