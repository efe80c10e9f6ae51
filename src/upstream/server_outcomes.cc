// What requests tell of their server: failures in a row and by window, and what follows from them.
#include <algorithm>
#include <format>

#include "upstream/server_state.h"

namespace pqedge::upstream {
namespace {

std::string text(const Outcome& outcome) {
  switch (outcome.kind) {
    case Outcome::Kind::answered: return std::format("status {}", outcome.status);
    case Outcome::Kind::connect_failed: return "no connection";
    case Outcome::Kind::timed_out: return "no answer in time";
    case Outcome::Kind::reset: return "broken off";
    case Outcome::Kind::nothing: break;
  }
  return "nothing";
}

}  // namespace

void ServerState::report(const Outcome& outcome, Ticket& ticket, Nanos now) {
  if (timed_.load(std::memory_order_relaxed) && outcome.first_byte != 0) {
    latency.observe(outcome.first_byte, now);
  }
  if (!watched_.load(std::memory_order_relaxed)) {
    leave(ticket);
    return;
  }
  if (outcome.kind == Outcome::Kind::nothing) return leave(ticket);
  const bool surely_well = outcome.kind == Outcome::Kind::answered && outcome.status < 500;
  if (surely_well && ticket.round == 0 && mode() == Mode::up) {
    if (window_length_.load(std::memory_order_relaxed) != 0) count_request(false, now);
    if (failures_.load(std::memory_order_relaxed) != 0) {
      failures_.store(0, std::memory_order_relaxed);
    }
    return;
  }
  report_slowly(outcome, ticket, now);
  ticket.round = 0;
}

void ServerState::report_slowly(const Outcome& outcome, const Ticket& ticket, Nanos now) {
  const std::lock_guard lock(mutex_);
  const bool failed = is_failure(outcome);
  if (mode() == Mode::half_open) {
    // What was sent before, or as a probe of an earlier round, says nothing of how it is now.
    if (ticket.round != round_) return;
    if (failed) {
      change(Mode::open, now + rules_.breaker.pause, "a probe failed: " + text(outcome), now);
    } else if (++well_ >= rules_.breaker.probes) {
      change(Mode::up, now, std::format("{} of {} probes went well", well_, well_), now);
    }
    return;
  }
  if (mode() != Mode::up || ticket.round != 0) return;
  if (window_length_.load(std::memory_order_relaxed) != 0) count_request(failed, now);
  if (!failed) {
    failures_.store(0, std::memory_order_relaxed);
    return;
  }
  failures_.fetch_add(1, std::memory_order_relaxed);
  on_failure(outcome, now);
}

bool ServerState::is_failure(const Outcome& outcome) const {
  if (outcome.kind != Outcome::Kind::answered) return true;
  if (outcome.status < 500) return false;
  if (rules_.failure_statuses.empty()) return outcome.status != 501 && outcome.status != 505;
  return std::ranges::find(rules_.failure_statuses, outcome.status) !=
         rules_.failure_statuses.end();
}

void ServerState::on_failure(const Outcome& outcome, Nanos now) {
  const uint32_t in_a_row = failures_.load(std::memory_order_relaxed);
  const auto [requests, failed] = window(now);
  const auto why = [&](const auto& rule) -> std::string {
    if (rule.failures != 0 && in_a_row >= rule.failures) {
      return std::format("{} failures in a row, the last: {}", in_a_row, text(outcome));
    }
    if (rule.error_percent != 0 && requests >= rule.min_requests &&
        uint64_t{failed} * 100 >= uint64_t{requests} * rule.error_percent) {
      return std::format("{} of {} requests failed, the last: {}", failed, requests, text(outcome));
    }
    return {};
  };
  if (rules_.breaker.on) {
    if (const std::string reason = why(rules_.breaker); !reason.empty()) {
      change(Mode::open, now + rules_.breaker.pause, reason, now);
      return;
    }
  }
  if (!rules_.outlier.on) return;
  if (const std::string reason = why(rules_.outlier); !reason.empty() && may_be_ejected()) {
    eject(reason, now);
  }
}

// Never the last one of a pool, and not more of them than the settings say: where most fail it is
// not the servers that are odd.
bool ServerState::may_be_ejected() {
  if (circle_ == nullptr) return false;
  const uint32_t members = circle_->members.load(std::memory_order_relaxed);
  uint32_t others = circle_->ejected.load(std::memory_order_relaxed);
  do {
    if (others + 1 >= members) return false;
    if (others != 0 && (others + 1) * 100 > members * rules_.outlier.max_percent) return false;
  } while (!circle_->ejected.compare_exchange_weak(others, others + 1, std::memory_order_relaxed));
  return true;
}

void ServerState::eject(std::string_view why, Nanos now) {
  const OutlierSettings& rule = rules_.outlier;
  // Each `eject` of good behaviour makes up for one ejection.
  if (returned_ != 0 && rule.eject != 0) {
    const uint64_t forgiven = (now - returned_) / rule.eject;
    ejections_ = forgiven >= ejections_ ? 0 : ejections_ - static_cast<uint32_t>(forgiven);
  }
  ejections_ = std::min(ejections_ + 1, 10'000U);
  const Nanos time = std::min(rule.eject * ejections_, std::max(rule.eject, rule.max_eject));
  change(Mode::ejected, now + time, why, now);
}

// ---- requests by window ------------------------------------------------------------------------

void ServerState::count_request(bool failed, Nanos now) {
  constexpr uint64_t kMost = (1U << 20) - 1;
  const Nanos length = window_length_.load(std::memory_order_relaxed);
  if (length == 0) return;
  const uint64_t number = (now / length) & 0xff'ffff;
  uint64_t seen = window_.load(std::memory_order_relaxed);
  uint64_t next = 0;
  do {
    const bool same = seen >> 40 == number;
    const uint64_t requests = same ? (seen >> 20) & kMost : 0;
    const uint64_t failures = same ? seen & kMost : 0;
    if (requests == kMost) return;  // enough to know its share
    next = number << 40 | (requests + 1) << 20 | (failures + (failed ? 1 : 0));
  } while (!window_.compare_exchange_weak(seen, next, std::memory_order_relaxed));
}

std::pair<uint32_t, uint32_t> ServerState::window(Nanos now) const {
  const Nanos length = window_length_.load(std::memory_order_relaxed);
  const uint64_t seen = window_.load(std::memory_order_relaxed);
  if (length == 0 || seen >> 40 != ((now / length) & 0xff'ffff)) return {0, 0};
  return {static_cast<uint32_t>((seen >> 20) & 0xf'ffff), static_cast<uint32_t>(seen & 0xf'ffff)};
}

}  // namespace pqedge::upstream
