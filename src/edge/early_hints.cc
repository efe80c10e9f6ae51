// What a client is told before its answer: by the route's own rules, and by the backend (P18).
#include "content/early_hints.h"

#include "base/counters.h"
#include "edge/exchange.h"
#include "edge/worker.h"

namespace pqedge::edge {
namespace {

constexpr const char* kName = "pqedge_early_hints_total";
constexpr const char* kHelp = "103 answers to clients, by whose they were.";
const counters::Counter own(kName, kHelp, {{"source", "route"}});
const counters::Counter passed_on(kName, kHelp, {{"source", "backend"}});

}  // namespace

void Exchange::send_early_hints() {
  if (!content::wants_early_hints(*request_)) return;
  own.add();
  http::Response hints(arena_);
  content::fill_early_hints(hints, plan_->settings->early_hints);
  stream_->send_informational(hints);
}

void Exchange::on_attempt_informational(Attempt& attempt) {
  // While two race, neither's is yet the client's.
  if (other_running(attempt) != nullptr) return;
  http::Response& response = attempt.response();
  // 100 was ours to give; the others pass (RFC 9110 15.2), but not to HTTP/1.0.
  if (response.status == 100 || request_->version == http::Version::http10) return;
  if (response.status == 103) {
    if (plan_->settings != nullptr && !plan_->settings->pass_early_hints) return;
    passed_on.add();
  }
  content::strip_informational(response);
  stream_->send_informational(response);
}

}  // namespace pqedge::edge
