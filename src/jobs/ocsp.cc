#include "jobs/ocsp.h"

#include <algorithm>
#include <chrono>
#include <format>
#include <utility>

#include "base/counters.h"
#include "base/log.h"
#include "jobs/acme/storage.h"
#include "jobs/ocsp_cache.h"

namespace pqedge::jobs {
namespace {

using acme::Storage;
using counters::Counter;
using counters::Kind;

constexpr Nanos kLongestRetry = 3600 * kSecond;
// A response is asked for anew at half of its life, and at least so often: a revocation is learnt of
// in that time.
constexpr Nanos kLongestWait = 12 * 3600 * kSecond;
constexpr Nanos kShortestWait = kSecond;

int64_t unix_now() { return static_cast<int64_t>(wall_now() / kSecond); }
Nanos seconds(int64_t count) { return static_cast<Nanos>(std::max<int64_t>(count, 0)) * kSecond; }

std::string time_text(int64_t unix) {
  return std::format("{:%FT%TZ}", std::chrono::sys_seconds(std::chrono::seconds(unix)));
}

Counter questions(std::string_view result) {
  return Counter("pqedge_ocsp_questions_total", "OCSP questions by what came of them",
                 {{"result", std::string(result)}});
}
struct OcspCounters {
  Counter good = questions("good");
  Counter revoked = questions("revoked");
  Counter failed = questions("failed");
  Counter stapled{"pqedge_ocsp_stapled_certificates",
                  "Certificates with an OCSP response in force", {}, Kind::gauge};
  Counter failing{"pqedge_ocsp_failing_certificates",
                  "Certificates whose responders gave no usable answer when last asked", {},
                  Kind::gauge};
  Counter revoked_now{"pqedge_ocsp_revoked_certificates",
                      "Certificates that their responder calls revoked", {}, Kind::gauge};
  Counter missing{"pqedge_ocsp_must_staple_missing",
                  "Certificates that demand a stapled response, and have none", {}, Kind::gauge};
};
const OcspCounters ocsp_counters;

// A gauge's share of one certificate.
class Flag {
 public:
  void set(bool on, const Counter& gauge) {
    if (on == on_) return;
    on ? gauge.add() : gauge.subtract();
    on_ = on;
  }

 private:
  bool on_ = false;
};

constexpr std::string_view kMustStaple =
    "; the certificate demands one (must-staple), so that clients will refuse it";

}  // namespace

std::optional<OcspNews> cached_response(const crypto::OcspSettings& settings,
                                        const OcspSubject& subject) {
  const std::string file = ocsp_cache_file(settings.cache_dir, subject.fingerprint);
  if (file.empty()) return std::nullopt;
  const auto kept = Storage::read(file);
  if (!kept) {
    if (kept.error().code != ENOENT) log::warning("ocsp", "{}", kept.error().message);
    return std::nullopt;
  }
  const auto answer = crypto::read_ocsp_response(as_bytes(*kept), subject.leaf.get(),
                                                 subject.issuer.get(), unix_now());
  if (!answer || answer->status != crypto::OcspStatus::good) {
    log::info("ocsp", "{}: the response in {} is of no use: {}", subject.label, file,
              answer ? "it does not say \"good\"" : answer.error().message);
    return std::nullopt;
  }
  return OcspNews{.id = subject.id,
                  .fingerprint = subject.fingerprint,
                  .response = *kept,
                  .this_update = answer->this_update,
                  .valid_until = answer->valid_until,
                  .timestamps = answer->timestamps,
                  .status = "good"};
}

struct OcspJob::Entry {
  OcspSubject subject;
  std::string request;
  bool gone = false;
  bool asking = false;
  unsigned failures = 0;
  size_t responder = 0;
  std::string response;  // empty: none that may be sent
  std::string timestamps;
  std::string status;
  std::string error;
  int64_t this_update = 0;
  int64_t valid_until = 0;
  int64_t next_question = 0;
  uint64_t questions = 0;  // a timer of an earlier one does nothing
  Flag stapled, failing, revoked, missing;

  void count(bool present) {
    stapled.set(present && !response.empty(), ocsp_counters.stapled);
    failing.set(present && !error.empty(), ocsp_counters.failing);
    revoked.set(present && status == "revoked", ocsp_counters.revoked_now);
    missing.set(present && subject.must_staple && response.empty(), ocsp_counters.missing);
  }
};

OcspJob::OcspJob(WebThread& web, Tell tell)
    : web_(web), tell_(std::move(tell)), dice_(std::random_device()()) {}

OcspJob::~OcspJob() {
  for (auto& [id, entry] : entries_) entry->count(false);
}

double OcspJob::random() { return std::uniform_real_distribution<double>()(dice_); }

std::string OcspJob::cache_file(const Entry& entry) const {
  return ocsp_cache_file(settings_.cache_dir, entry.subject.fingerprint);
}

void OcspJob::configure(crypto::OcspSettings settings) {
  const bool moved = settings.cache_dir != settings_.cache_dir;
  const bool other = settings.local_responders != settings_.local_responders ||
                     settings.timeout != settings_.timeout || settings.retry != settings_.retry;
  settings_ = std::move(settings);
  // What failed may work now.
  for (auto& [id, entry] : entries_) {
    if (!other || entry->failures == 0) continue;
    entry->failures = 0;
    ask_in(entry, 0);
  }
  if (!moved) return;
  cache_failed_ = false;
  remove_old_responses(settings_.cache_dir);
  for (auto& [id, entry] : entries_) {
    if (!entry->response.empty()) keep(*entry);
  }
}

void OcspJob::add(OcspSubject subject) {
  EntryRef& entry = entries_[subject.id];
  if (entry != nullptr) {
    if (entry->subject.fingerprint == subject.fingerprint) return;
    remove(subject.id);
  }
  EntryRef made = std::make_shared<Entry>();
  made->subject = std::move(subject);
  entries_[made->subject.id] = made;
  begin(made);
}

void OcspJob::remove(const std::string& id) {
  const auto it = entries_.find(id);
  if (it == entries_.end()) return;
  it->second->gone = true;
  it->second->count(false);
  entries_.erase(it);
}

void OcspJob::begin(const EntryRef& entry) {
  const OcspSubject& s = entry->subject;
  if (s.responders.empty()) {
    // Most authorities have ended OCSP: nothing is wrong.
    if (s.must_staple) {
      log::warning("ocsp", "{}: the certificate names no OCSP responder{}", s.label, kMustStaple);
    }
    report(*entry);
    return;
  }
  if (s.issuer == nullptr) {
    entry->error = "the issuer's certificate is not known";
    log::warning("ocsp",
                 "{}: the issuer's certificate is neither in the chain nor among the system's "
                 "trusted ones, so no OCSP response can be checked: add it to the chain{}",
                 s.label, s.must_staple ? kMustStaple : "");
    report(*entry);
    return;
  }
  auto request = crypto::make_ocsp_request(s.leaf.get(), s.issuer.get());
  if (!request) {
    entry->error = request.error().message;
    log::error("ocsp", "{}: {}", s.label, entry->error);
    report(*entry);
    return;
  }
  entry->request = std::move(*request);
  if (const auto kept = std::exchange(entry->subject.kept, nullptr)) {
    const crypto::OcspAnswer answer{.status = crypto::OcspStatus::good,
                                    .this_update = kept->this_update,
                                    .valid_until = kept->valid_until,
                                    .timestamps = kept->timestamps};
    on_good(entry, kept->response, answer);
  } else {
    ask(entry);
  }
}

void OcspJob::ask(const EntryRef& entry) {
  if (std::exchange(entry->asking, true)) return;
  ++entry->questions;
  entry->responder = 0;
  send(entry, false);
}

// GET first, which caches on the way answer (RFC 5019 5); POST where the request is too long for it.
void OcspJob::send(const EntryRef& entry, bool post) {
  const std::string& responder = entry->subject.responders[entry->responder];
  WebRequest request{.accept = "application/ocsp-response",
                     .timeout = settings_.timeout,
                     .max_answer = crypto::kMaxOcspResponse,
                     .local_addresses = settings_.local_responders};
  if (!post) request.url = crypto::ocsp_get_url(responder, entry->request);
  if (request.url.empty()) {
    post = true;
    request.url = responder;
    request.post = true;
    request.content_type = "application/ocsp-request";
    request.body = entry->request;
  }
  web_.fetch(std::move(request), [this, entry, post](WebAnswer answer) {
    if (!entry->gone) on_answer(entry, post, std::move(answer));
  });
}

void OcspJob::on_answer(const EntryRef& entry, bool post, WebAnswer answer) {
  std::string why;
  if (answer.status == 200) {
    const auto used = use(entry, answer.body);
    if (used) return;
    why = used.error().message;
  } else {
    why = answer.status == 0 ? answer.error : std::format("HTTP status {}", answer.status);
  }
  // A server that answers, but not to this: some know POST alone.
  if (!post && answer.status != 0) {
    send(entry, true);
    return;
  }
  why = entry->subject.responders[entry->responder] + ": " + why;
  if (++entry->responder < entry->subject.responders.size()) {
    log::info("ocsp", "{}: {}; the next responder is asked", entry->subject.label, why);
    send(entry, false);
    return;
  }
  on_failure(entry, why);
}

Result<void> OcspJob::use(const EntryRef& entry, const std::string& response) {
  const auto answer = crypto::read_ocsp_response(as_bytes(response), entry->subject.leaf.get(),
                                                 entry->subject.issuer.get(), unix_now());
  if (!answer) return std::unexpected(answer.error());
  switch (answer->status) {
    case crypto::OcspStatus::unknown:
      return fail("the responder does not know the certificate");
    case crypto::OcspStatus::revoked:
      entry->asking = false;
      on_revoked(entry, *answer);
      return {};
    case crypto::OcspStatus::good:
      entry->asking = false;
      ocsp_counters.good.add();
      if (entry->failures > 0) {
        log::info("ocsp", "{}: the OCSP responder answers again", entry->subject.label);
      }
      on_good(entry, response, *answer);
      keep(*entry);
      return {};
  }
  return {};
}

void OcspJob::on_good(const EntryRef& entry, const std::string& response,
                      const crypto::OcspAnswer& answer) {
  if (entry->status == "revoked") {
    log::warning("ocsp", "{}: the certificate is good again", entry->subject.label);
  }
  entry->failures = 0;
  entry->error.clear();
  entry->status = "good";
  entry->response = response;
  entry->timestamps = answer.timestamps;
  entry->this_update = answer.this_update;
  entry->valid_until = answer.valid_until;
  // At half of its life; one that came late in it is not asked for again and again.
  const int64_t now = unix_now();
  const Nanos left = seconds(answer.valid_until - now);
  const Nanos to_half = seconds((answer.this_update + answer.valid_until) / 2 - now);
  const Nanos least = std::max(std::min(settings_.retry, left / 2), kShortestWait);
  const Nanos wait = std::clamp(to_half, least, std::max(least, kLongestWait));
  ask_in(entry, wait - static_cast<Nanos>(random() * 0.1 * static_cast<double>(wait)));
  watch_end(entry);
  report(*entry);
}

// It is not stapled, as nginx, HAProxy and Caddy do not: RFC 6066 8 leaves that to the server. What
// said "good" is not sent any more either.
void OcspJob::on_revoked(const EntryRef& entry, const crypto::OcspAnswer& answer) {
  ocsp_counters.revoked.add();
  if (entry->status != "revoked") {
    log::error("ocsp",
               "{}: the certificate was REVOKED at {}{}{}: exchange it; no OCSP response is sent",
               entry->subject.label, time_text(answer.revoked_at),
               answer.reason.empty() ? "" : ", ", answer.reason);
  }
  entry->failures = 0;
  entry->error.clear();
  entry->status = "revoked";
  entry->response.clear();
  entry->timestamps.clear();
  if (const std::string file = cache_file(*entry); !file.empty()) Storage::remove(file);
  ask_in(entry, std::max(settings_.retry, kLongestRetry));
  report(*entry);
}

void OcspJob::on_failure(const EntryRef& entry, const std::string& why) {
  entry->asking = false;
  ocsp_counters.failed.add();
  const unsigned doubled = std::min(entry->failures, 12u);
  const Nanos base = std::min(settings_.retry << doubled, std::max(kLongestRetry, settings_.retry));
  const auto wait = static_cast<Nanos>((0.75 + 0.5 * random()) * static_cast<double>(base));
  const bool first = entry->failures++ == 0;
  entry->error = why;
  log::at(first ? log::Level::warning : log::Level::debug, "ocsp",
          "{}: no OCSP response: {}; {}{}; asked again in {} s", entry->subject.label, why,
          entry->response.empty()
              ? std::string("none is sent")
              : "the last one is sent until " + time_text(entry->valid_until),
          entry->response.empty() && entry->subject.must_staple ? kMustStaple : "",
          std::max<Nanos>(wait / kSecond, 1));
  ask_in(entry, wait);
  report(*entry);
}

void OcspJob::ask_in(const EntryRef& entry, Nanos wait) {
  entry->next_question = unix_now() + static_cast<int64_t>(wait / kSecond);
  web_.at(monotonic_now() + wait, [this, entry, question = entry->questions] {
    if (!entry->gone && entry->questions == question) ask(entry);
  });
}

void OcspJob::watch_end(const EntryRef& entry) {
  const Nanos left = seconds(entry->valid_until - unix_now());
  web_.at(monotonic_now() + left + kMillisecond, [this, entry, until = entry->valid_until] {
    if (entry->gone || entry->valid_until != until || entry->response.empty()) return;
    if (unix_now() < until) {  // the clock was set
      watch_end(entry);
      return;
    }
    entry->response.clear();
    entry->timestamps.clear();
    log::warning("ocsp", "{}: the last OCSP response ran out, and none is sent now{}",
                 entry->subject.label, entry->subject.must_staple ? kMustStaple : "");
    report(*entry);
  });
}

void OcspJob::report(Entry& entry) {
  entry.count(true);
  tell_({.id = entry.subject.id,
         .fingerprint = entry.subject.fingerprint,
         .response = entry.response,
         .this_update = entry.this_update,
         .valid_until = entry.valid_until,
         .timestamps = entry.timestamps,
         .status = entry.status,
         .error = entry.error,
         .next_question = entry.next_question});
}

// A full disk is said once; the response is in memory all the same.
void OcspJob::keep(const Entry& entry) {
  const std::string file = cache_file(entry);
  if (file.empty()) return;
  const auto written = Storage::write(file, entry.response);
  if (!written && !cache_failed_) {
    log::error("ocsp", "{}; the response is kept in memory alone", written.error().message);
  }
  cache_failed_ = !written;
}

}  // namespace pqedge::jobs
