#include "jobs/acme/ask.h"

#include <algorithm>

#include "base/counters.h"
#include "base/log.h"

namespace pqedge::acme {
namespace {

constexpr Nanos kAskTimeout = 5 * kSecond;

counters::Counter asks(const char* answer) {
  return counters::Counter("pqedge_acme_asks_total",
                           "Names that the ask URL was asked about, by its answer.",
                           {{"answer", answer}});
}
const counters::Counter kAllowed = asks("allowed");
const counters::Counter kDenied = asks("denied");
const counters::Counter kFailed = asks("failed");

}  // namespace

Permission Asker::ask(const std::string& host) {
  if (http_ == nullptr) {
    auto client = HttpClient::create(
        {.timeout = std::min(kAskTimeout, settings_.wait), .plain = true, .stop = &stop_});
    if (!client) {
      log::error("acme", "{}", client.error().message);
      return Permission::unknown;
    }
    http_ = std::move(*client);
  }
  const char* joint = settings_.ask.find('?') == std::string::npos ? "?" : "&";
  const auto answer = http_->get(settings_.ask + joint + "domain=" + host);
  if (!answer || answer->status >= 500) {
    kFailed.add();
    log::error("acme", "{}: the ask URL gives no answer: {}", host,
               answer ? "status " + std::to_string(answer->status) : answer.error().message);
    return Permission::unknown;
  }
  if (answer->status == 200) {
    kAllowed.add();
    return Permission::allowed;
  }
  kDenied.add();
  log::info("acme", "{}: the ask URL says no (status {})", host, answer->status);
  return Permission::denied;
}

}  // namespace pqedge::acme
