// What comes of a question: the response that is sent from then on, and when the next one is due.
#include <algorithm>
#include <chrono>
#include <format>

#include "base/log.h"
#include "jobs/acme/storage.h"
#include "jobs/ocsp_entry.h"

namespace pqedge::jobs {
namespace {

using acme::Storage;
using counters::Counter;
using counters::Kind;

constexpr Nanos kLongestRetry = 3600 * kSecond;
// A response is asked for anew at half of its life, and at least so often: a revocation is learnt
// of in that time.
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
Counter certificates(std::string_view name, std::string_view help) {
  return Counter(name, help, {}, Kind::gauge);
}

// Registered at the start: an alarm is there before it is needed.
const OcspCounters all_counters = {
    .good = questions("good"),
    .revoked = questions("revoked"),
    .failed = questions("failed"),
    .stapled = certificates("pqedge_ocsp_stapled_certificates",
                            "Certificates with an OCSP response in force"),
    .failing = certificates("pqedge_ocsp_failing_certificates",
                            "Certificates whose responders gave no usable answer when last asked"),
    .revoked_now = certificates("pqedge_ocsp_revoked_certificates",
                                "Certificates that their responder calls revoked"),
    .must_staple = certificates("pqedge_ocsp_must_staple_missing",
                                "Certificates that demand a stapled response, and have none")};

}  // namespace

const OcspCounters& ocsp_counters() { return all_counters; }

Result<void> OcspJob::use(const EntryRef& entry, const std::string& response) {
  const auto answer = crypto::read_ocsp_response(as_bytes(response), entry->subject.leaf.get(),
                                                 entry->subject.issuer.get(), unix_now());
  if (!answer) return std::unexpected(answer.error());
  switch (answer->status) {
    case crypto::OcspStatus::unknown: return fail("the responder does not know the certificate");
    case crypto::OcspStatus::revoked:
      entry->asking = false;
      on_revoked(entry, *answer);
      return {};
    case crypto::OcspStatus::good:
      entry->asking = false;
      ocsp_counters().good.add();
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
  ocsp_counters().revoked.add();
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
  ocsp_counters().failed.add();
  const unsigned doubled = std::min(entry->failures, 12u);
  const Nanos base = std::min(settings_.retry << doubled, std::max(kLongestRetry, settings_.retry));
  const auto wait = static_cast<Nanos>((0.75 + 0.5 * random()) * static_cast<double>(base));
  const bool first = entry->failures++ == 0;
  entry->error = why;
  log::at(first ? log::Level::warning : log::Level::debug, "ocsp",
          "{}: no OCSP response: {}; {}{}; asked again in {} s", entry->subject.label, why,
          entry->response.empty() ? std::string("none is sent")
                                  : "the last one is sent until " + time_text(entry->valid_until),
          entry->response.empty() && entry->subject.must_staple ? kMustStaple : "",
          std::max<Nanos>(wait / kSecond, 1));
  ask_in(entry, wait);
  report(*entry);
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
