#include "edge/certificate_watcher.h"

#include <algorithm>
#include <format>
#include <tuple>

#include "base/counters.h"
#include "base/log.h"
#include "base/time.h"
#include "record/published_series.h"

namespace pqedge::edge {
namespace {

constexpr Nanos kExpiryLook = 3600 * kSecond;
// A file may be gone for a moment: some tools remove it and write it anew.
constexpr Nanos kMissingWait = 10 * kSecond;
// A file was written to while it was read, or before it was watched.
constexpr Nanos kSecondLook = 2 * kSecond;

counters::Counter reads(const char* result) {
  return counters::Counter("pqedge_certificate_reads_total",
                           "certificates read again because their files had changed",
                           {{"result", result}});
}
const counters::Counter taken_into_use = reads("taken");
const counters::Counter not_taken = reads("refused");

std::string names_text(const crypto::Certificate& c) {
  std::string text;
  for (size_t i = 0; i < c.names.size() && i < 3; ++i) text += (i == 0 ? "" : ", ") + c.names[i];
  if (c.names.size() > 3) text += std::format(" and {} more", c.names.size() - 3);
  return text.empty() ? "no name" : text;
}

std::string where(const crypto::Certificate& c) { return c.file.empty() ? c.id : c.file; }

}  // namespace

CertificateWatcher::CertificateWatcher(net::Loop& main_loop, CertificateKeeper& keeper)
    : loop_(main_loop),
      keeper_(keeper),
      expiry_timer_(
          [](void* self) {
            auto& watcher = *static_cast<CertificateWatcher*>(self);
            watcher.speak_of_expiry();
            watcher.expiry_timer_.arm(watcher.loop_, kExpiryLook);
          },
          this),
      tell_later_(
          [](void* self) {
            static_cast<CertificateWatcher*>(self)->publish_metrics();
            static_cast<CertificateWatcher*>(self)->speak_of_expiry();
          },
          this) {
  keeper_.observe(
      [this](const std::string&, const crypto::CertificateRef&) { loop_.defer(tell_later_); });
  expiry_timer_.arm(loop_, kExpiryLook);
}

void CertificateWatcher::follow(const Settings& settings,
                                const std::vector<crypto::CertificateRef>& read) {
  // The keeper may have kept an older one of the same content, and its stamps.
  std::map<std::string_view, const crypto::Certificate*> by_id;
  for (const crypto::CertificateRef& c : read) by_id[c->id] = c.get();
  settings_ = settings.tls.certificates;
  options_ = {.strict_keys = settings.tls.strict_key_files, .warn = true};
  known_.clear();
  unreadable_.clear();
  for (const crypto::CertificateSettings& one : settings_) {
    if (one.acme) continue;
    const auto pairs = crypto::list_certificate_files(one);
    if (!pairs) continue;
    for (const crypto::CertificateFiles& files : *pairs) {
      Known known{.files = files};
      if (const auto it = by_id.find(files.id()); it != by_id.end()) {
        known.chain = it->second->chain_stamp;
        known.key = it->second->key_stamp;
        if (!files.timestamps.empty()) known.timestamps = crypto::stamp_of(files.timestamps);
      }
      known_.emplace(files.id(), std::move(known));
    }
  }
  if (!settings.watch_certificates || known_.empty()) {
    watch_ = nullptr;
  } else if (watch_ == nullptr) {
    auto watch = jobs::FileWatch::start(loop_, [this] { look_by_itself(); });
    if (watch) {
      watch_ = std::move(*watch);
    } else {
      log::error("tls", "certificates are not watched: {}", watch.error().message);
    }
  }
  if (watch_ != nullptr) {
    watch_paths();
    watch_->look_again(kSecondLook);  // for what changed between the reading and the watching
  }
  loop_.defer(tell_later_);
}

void CertificateWatcher::watch_paths() {
  std::vector<std::string> paths;
  for (const crypto::CertificateSettings& one : settings_) {
    if (!one.directory.empty()) paths.push_back(one.directory);
  }
  for (const auto& [id, known] : known_) {
    paths.push_back(known.files.chain);
    paths.push_back(known.files.key);
    if (!known.files.timestamps.empty()) paths.push_back(known.files.timestamps);
  }
  watch_->set_paths(std::move(paths));
}

// ---- looking -----------------------------------------------------------------------------------

void CertificateWatcher::look_by_itself() {
  const Outcome outcome = look_at_all();
  if (outcome.taken + outcome.removed > 0) {
    log::info("tls", "certificates: {} read anew, {} removed", outcome.taken, outcome.removed);
  }
}

Result<std::string> CertificateWatcher::look() {
  const Outcome outcome = look_at_all();
  keeper_.publish_now();
  const std::string done =
      std::format("certificates: {} read anew, {} removed", outcome.taken, outcome.removed);
  if (outcome.problems.empty()) return done;
  std::string text = done + "; kept as they are:";
  for (const std::string& problem : outcome.problems) text += "\n" + problem;
  return fail("{}", text);
}

CertificateWatcher::Outcome CertificateWatcher::look_at_all() {
  Outcome outcome;
  const auto directories_before = unreadable_;
  unreadable_.clear();
  for (auto& [id, known] : known_) known.listed = false;
  for (const crypto::CertificateSettings& one : settings_) {
    if (one.acme) continue;
    const auto pairs = crypto::list_certificate_files(one);
    if (!pairs) {
      // What was in it stays in use.
      unreadable_[one.directory] = pairs.error().message;
      outcome.problems.push_back(pairs.error().message);
      if (!directories_before.contains(one.directory)) {
        log::error("tls", "{}; its certificates stay in use", pairs.error().message);
      }
      for (auto& [id, known] : known_) {
        known.listed |= known.files.chain.starts_with(one.directory + "/");
      }
      continue;
    }
    for (const crypto::CertificateFiles& files : *pairs) {
      Known& known = known_.try_emplace(files.id(), Known{.files = files}).first->second;
      known.files = files;
      known.listed = true;
      look_at(known, outcome);
    }
  }
  forget_missing(outcome);
  if (watch_ != nullptr) watch_paths();
  loop_.defer(tell_later_);
  return outcome;
}

void CertificateWatcher::look_at(Known& known, Outcome& outcome) {
  const auto stamps = [&] {
    return std::tuple(crypto::stamp_of(known.files.chain), crypto::stamp_of(known.files.key),
                      known.files.timestamps.empty() ? crypto::FileStamp{}
                                                     : crypto::stamp_of(known.files.timestamps));
  };
  known.missing_since = 0;
  const auto before = stamps();
  if (before == std::tie(known.chain, known.key, known.timestamps)) {
    if (!known.problem.empty()) outcome.problems.push_back(known.problem);
    return;
  }
  auto loaded = crypto::load_certificate(known.files, options_);
  // Written to while it was read: the next look takes what it is then.
  const bool settled = before == stamps();
  if (settled) std::tie(known.chain, known.key, known.timestamps) = before;
  if (!loaded) return set_problem(known, loaded.error().message, outcome);
  if (!settled) {
    if (watch_ != nullptr) watch_->look_again(kSecondLook);
    return;
  }
  if (!known.problem.empty()) log::info("tls", "{} is good again", known.files.chain);
  known.problem.clear();
  const crypto::CertificateRef old = keeper_.find(known.files.id());
  if (old != nullptr && crypto::same_content(*old, *loaded)) return;
  ++outcome.taken;
  taken_into_use.add();
  auto fresh = std::make_shared<const crypto::Certificate>(std::move(*loaded));
  log::info("tls", "{}: a {} certificate for {} is in use", fresh->file,
            old == nullptr ? "further" : "new", names_text(*fresh));
  spoken_.erase(fresh->id);
  keeper_.add(std::move(fresh));
}

void CertificateWatcher::set_problem(Known& known, std::string problem, Outcome& outcome) {
  outcome.problems.push_back(problem);
  not_taken.add();
  if (known.problem == problem) return;
  known.problem = std::move(problem);
  const bool in_use = keeper_.find(known.files.id()) != nullptr;
  log::error("tls", "{}; {}", known.problem,
             in_use ? "the certificate read before stays in use" : "it is left out");
}

// Gone from a directory: for good, once it has been so for a while.
void CertificateWatcher::forget_missing(Outcome& outcome) {
  const Nanos now = monotonic_now();
  for (auto it = known_.begin(); it != known_.end();) {
    Known& known = it->second;
    if (known.listed) {
      ++it;
      continue;
    }
    if (known.missing_since == 0) known.missing_since = now;
    if (now - known.missing_since < kMissingWait) {
      if (watch_ != nullptr) watch_->look_again(kMissingWait);
      ++it;
      continue;
    }
    if (keeper_.find(it->first) != nullptr) {
      ++outcome.removed;
      log::info("tls", "{} is gone: its certificate is no longer in use", known.files.chain);
      keeper_.remove(it->first);
    }
    spoken_.erase(it->first);
    it = known_.erase(it);
  }
}

// ---- what is told ------------------------------------------------------------------------------

void CertificateWatcher::publish_metrics() const {
  std::vector<record::ProcessSeries> series;
  for (const crypto::CertificateRef& c : keeper_.all()) {
    if (c->is_challenge) continue;
    series.push_back({"pqedge_certificate_expiry_seconds",
                      "when a certificate in use expires, Unix time",
                      counters::Kind::gauge,
                      {{"certificate", where(*c)}, {"name", c->names.empty() ? "" : c->names[0]}},
                      static_cast<double>(c->not_after)});
  }
  constexpr const char* kStale = "pqedge_certificate_stale";
  constexpr const char* kStaleHelp =
      "1 while files hold no certificate that can be used, and an earlier one is kept, or none";
  for (const auto& [id, known] : known_) {
    series.push_back({kStale,
                      kStaleHelp,
                      counters::Kind::gauge,
                      {{"certificate", known.files.chain}},
                      known.problem.empty() ? 0.0 : 1.0});
  }
  for (const auto& [directory, problem] : unreadable_) {
    series.push_back(
        {kStale, kStaleHelp, counters::Kind::gauge, {{"certificate", directory}}, 1.0});
  }
  record::publish_series("certificates", std::move(series));
}

// Each threshold once, and the last again with each restart.
void CertificateWatcher::speak_of_expiry() {
  constexpr int kThresholds[] = {0, 1, 3, 7, 14, 30};  // days
  const auto now = static_cast<int64_t>(wall_now() / kSecond);
  for (const crypto::CertificateRef& c : keeper_.all()) {
    if (c->is_challenge) continue;
    const int64_t left = c->not_after - now;
    // A certificate that lives but days is renewed by who made it that way.
    const int64_t life = c->not_after - c->not_before;
    const auto passed =
        std::ranges::find_if(kThresholds, [&](int days) { return left < int64_t{days} * 86400; });
    if (passed == std::end(kThresholds) || (*passed > 0 && left * 3 > life)) {
      spoken_.erase(c->id);
      continue;
    }
    const auto [it, first] = spoken_.try_emplace(c->id, *passed);
    if (!first && it->second == *passed) continue;
    it->second = *passed;
    if (left <= 0) {
      log::error("tls", "{}: the certificate for {} has expired", where(*c), names_text(*c));
    } else {
      log::warning("tls", "{}: the certificate for {} expires in {} {}", where(*c), names_text(*c),
                   left < 2 * 86400 ? (left + 3599) / 3600 : left / 86400,
                   left < 2 * 86400 ? "hours" : "days");
    }
  }
}

}  // namespace pqedge::edge
