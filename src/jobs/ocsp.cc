#include "jobs/ocsp.h"

#include <format>
#include <utility>

#include "base/log.h"
#include "jobs/ocsp_cache.h"
#include "jobs/ocsp_entry.h"

namespace pqedge::jobs {

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

// GET first, which caches on the way answer (RFC 5019 5); POST where the request is too long.
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

void OcspJob::ask_in(const EntryRef& entry, Nanos wait) {
  entry->next_question = static_cast<int64_t>((wall_now() + wait) / kSecond);
  web_.at(monotonic_now() + wait, [this, entry, question = entry->questions] {
    if (!entry->gone && entry->questions == question) ask(entry);
  });
}

}  // namespace pqedge::jobs
