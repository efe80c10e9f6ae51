#include "jobs/timestamps.h"

#include <algorithm>
#include <ctime>

#include "base/counters.h"
#include "base/log.h"
#include "jobs/acme/storage.h"

namespace pqedge::jobs {
namespace {

using acme::Storage;
using counters::Counter;

constexpr Nanos kLongestRetry = 3600 * kSecond;
constexpr size_t kMaxAnswer = 16 * 1024;

constexpr std::string_view kName = "pqedge_ct_submissions_total";
constexpr std::string_view kHelp = "Certificates sent to logs, by what came of it";
const Counter kTaken(kName, kHelp, {{"result", "timestamp"}});
const Counter kFailed(kName, kHelp, {{"result", "failed"}});

int64_t unix_now() { return std::time(nullptr); }

}  // namespace

// To one log.
struct TimestampJob::Submission {
  const crypto::TransparencyLog* log = nullptr;
  std::string timestamp;  // SerializedSCT; empty: not yet
  unsigned failures = 0;
};

struct TimestampJob::Entry {
  TimestampSubject subject;
  std::shared_ptr<const crypto::LogList> logs;  // that the submissions point into
  std::vector<Submission> submissions;
  bool gone = false;

  std::string list() const {
    std::vector<std::string> all;
    for (const Submission& s : submissions) {
      if (!s.timestamp.empty()) all.push_back(s.timestamp);
    }
    return all.empty() ? std::string() : crypto::make_timestamp_list(all);
  }
};

TimestampJob::TimestampJob(WebThread& web, Tell tell)
    : web_(web), tell_(std::move(tell)), dice_(std::random_device()()) {}

TimestampJob::~TimestampJob() = default;

std::string TimestampJob::cache_file(const Entry& entry) const {
  if (options_.cache_dir.empty()) return {};
  return options_.cache_dir + '/' + entry.subject.fingerprint + ".sctl";
}

void TimestampJob::configure(TimestampOptions options) {
  const bool same = options.submit == options_.submit && options.cache_dir == options_.cache_dir;
  options_ = std::move(options);
  if (same) return;
  std::map<std::string, EntryRef> before;
  before.swap(entries_);
  for (auto& [id, entry] : before) {
    entry->gone = true;
    add(std::move(entry->subject));
  }
}

void TimestampJob::add(TimestampSubject subject) {
  if (const auto it = entries_.find(subject.id); it != entries_.end()) {
    if (it->second->subject.fingerprint == subject.fingerprint) return;
    remove(subject.id);
  }
  auto entry = std::make_shared<Entry>();
  entry->subject = std::move(subject);
  entries_[entry->subject.id] = entry;
  begin(entry);
}

void TimestampJob::remove(const std::string& id) {
  const auto it = entries_.find(id);
  if (it == entries_.end()) return;
  it->second->gone = true;
  entries_.erase(it);
}

void TimestampJob::begin(const EntryRef& entry) {
  entry->logs = options_.logs;
  for (const std::string& url : options_.submit) {
    const auto* log = options_.logs == nullptr ? nullptr : options_.logs->find_url(url);
    if (log != nullptr) entry->submissions.push_back({.log = log});
  }
  take_from_cache(*entry);
  report(*entry);
  for (size_t i = 0; i < entry->submissions.size(); ++i) {
    if (entry->submissions[i].timestamp.empty()) submit(entry, i);
  }
}

void TimestampJob::take_from_cache(Entry& entry) {
  const std::string file = cache_file(entry);
  if (file.empty()) return;
  const auto kept = Storage::read(file);
  if (!kept) {
    if (kept.error().code != ENOENT) log::warning("ct", "{}", kept.error().message);
    return;
  }
  const auto list = crypto::parse_timestamps(as_bytes(*kept));
  if (!list) {
    log::warning("ct", "{}: {}", file, list.error().message);
    return;
  }
  for (const crypto::SignedTimestamp& t : *list) {
    for (Submission& s : entry.submissions) {
      if (as_text(t.log_id) != s.log->id) continue;
      if (crypto::check_timestamp(t, crypto::TimestampSource::file, entry.subject.leaf.get(),
                                  nullptr, *entry.logs,
                                  unix_now()) == crypto::TimestampVerdict::good) {
        s.timestamp = as_text(t.whole);
      }
    }
  }
}

void TimestampJob::submit(const EntryRef& entry, size_t index) {
  web_.fetch({.url = entry->submissions[index].log->url + "ct/v1/add-chain",
              .post = true,
              .content_type = "application/json",
              .accept = "application/json",
              .body = crypto::add_chain_request(entry->subject.chain),
              .timeout = options_.timeout,
              .max_answer = kMaxAnswer,
              .local_addresses = options_.local_addresses},
             [this, entry, index](const WebAnswer& answer) {
               if (!entry->gone) on_answer(entry, index, answer);
             });
}

// A log that does not keep its word is no use: its signature is checked before it is sent on.
Result<std::string> TimestampJob::read(const Entry& entry, const WebAnswer& answer) const {
  if (answer.status == 0) return fail("{}", answer.error);
  if (answer.status != 200) return fail("HTTP status {}", answer.status);
  auto timestamp = crypto::read_add_chain_answer(answer.body);
  if (!timestamp) return timestamp;
  const std::string list = crypto::make_timestamp_list({*timestamp});
  const auto report =
      crypto::report_timestamps(as_bytes(list), crypto::TimestampSource::file,
                                entry.subject.leaf.get(), nullptr, entry.logs.get(), unix_now());
  if (!report.problems.empty()) return fail("{}", report.problems.front());
  if (report.good != 1) return fail("the timestamp is of a log that is not in tls.ct_log_list");
  return timestamp;
}

void TimestampJob::on_answer(const EntryRef& entry, size_t index, const WebAnswer& answer) {
  auto timestamp = read(*entry, answer);
  if (!timestamp) {
    on_failure(entry, index, timestamp.error().message);
    return;
  }
  Submission& submission = entry->submissions[index];
  kTaken.add();
  log::info("ct", "{}: has a timestamp of {}", entry->subject.label, submission.log->name);
  submission.timestamp = std::move(*timestamp);
  submission.failures = 0;
  keep(*entry);
  report(*entry);
}

void TimestampJob::on_failure(const EntryRef& entry, size_t index, const std::string& why) {
  kFailed.add();
  Submission& submission = entry->submissions[index];
  const Nanos base = std::min(options_.retry << std::min(submission.failures, 12u),
                              std::max(kLongestRetry, options_.retry));
  const double share = 0.75 + 0.5 * std::uniform_real_distribution<double>()(dice_);
  const auto wait = static_cast<Nanos>(share * static_cast<double>(base));
  log::at(submission.failures++ == 0 ? log::Level::warning : log::Level::debug, "ct",
          "{}: no timestamp of {}: {}; asked again in {} s", entry->subject.label,
          submission.log->name, why, std::max<Nanos>(wait / kSecond, 1));
  web_.at(monotonic_now() + wait, [this, entry, index] {
    if (!entry->gone) submit(entry, index);
  });
}

void TimestampJob::keep(const Entry& entry) {
  const std::string file = cache_file(entry);
  if (file.empty()) return;
  const auto written = Storage::write(file, entry.list());
  if (!written && !cache_failed_) {
    log::error("ct", "{}; the timestamps are kept in memory alone", written.error().message);
  }
  cache_failed_ = !written;
}

void TimestampJob::report(const Entry& entry) {
  tell_({.id = entry.subject.id,
         .fingerprint = entry.subject.fingerprint,
         .timestamps = entry.list()});
}

}  // namespace pqedge::jobs
