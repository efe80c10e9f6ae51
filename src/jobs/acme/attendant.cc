#include "jobs/acme/attendant.h"

#include <algorithm>
#include <format>

#include "base/counters.h"
#include "base/log.h"
#include "jobs/acme/renewal.h"

namespace pqedge::acme {
namespace {

constexpr Nanos kLookForOthers = 60 * kSecond;  // for what another process stored
constexpr Nanos kLookAtLock = 2 * kSecond;      // while another process has an order under way
constexpr Nanos kPollAfterFailure = 600 * kSecond;

const counters::Counter kIssued("pqedge_acme_orders_total", "Orders of certificates, by result.",
                                {{"result", "issued"}});
const counters::Counter kOrdersFailed("pqedge_acme_orders_total",
                                      "Orders of certificates, by result.", {{"result", "failed"}});
const counters::Counter kFailing("pqedge_acme_failing",
                                 "Certificates whose last order failed: an alarm.", {},
                                 counters::Kind::gauge);

double wall_seconds() { return static_cast<double>(wall_now()) / static_cast<double>(kSecond); }

std::string duration_words(double seconds) {
  if (seconds < 120) return std::format("{:.0f} s", std::max(seconds, 0.0));
  if (seconds < 7200) return std::format("{:.0f} min", seconds / 60);
  if (seconds < 172800) return std::format("{:.0f} h", seconds / 3600);
  return std::format("{:.0f} days", seconds / 86400);
}

}  // namespace

bool load_stored(const Storage& storage, const Settings& settings, Entry& entry, Stored& out) {
  const std::string file = storage.certificate_file(entry.id, entry.on_demand);
  const int64_t version = Storage::version_of(file);
  if (version == 0 || version == entry.version) return false;
  auto pem = Storage::read(file);
  if (!pem) {
    log::error("acme", "{}", pem.error().message);
    return false;
  }
  out.pem = std::move(*pem);
  const auto validity = check_issued(out.pem, file, entry.names, settings.key_type);
  entry.version = version;
  if (!validity) {
    log::warning("acme", "{}; another is ordered", validity.error().message);
    return false;
  }
  out.id = entry.id;
  out.names = entry.names;
  out.is_default = entry.is_default;
  entry.validity = *validity;
  entry.share_random = random_unit();
  entry.window.reset();
  entry.next_poll = 0;
  return true;
}

void forget(const Entry& entry) {
  if (entry.failures != 0 && (entry.validity || !entry.on_demand)) kFailing.subtract();
}

// What another process of the folder stored, or what was there before this one began.
bool Attendant::adopt_stored(Entry& entry) {
  Stored stored;
  if (!load_stored(storage_, *settings_, entry, stored)) return false;
  if (auto ok = host_.publish(stored); !ok) {
    log::error("acme", "{}: {}", entry.title(), ok.error().message);
    return false;
  }
  if (entry.failures != 0) kFailing.subtract();
  entry.failures = 0;
  entry.retry_at = 0;
  return true;
}

double Attendant::due_at(const Entry& entry) const {
  const Validity& v = *entry.validity;
  if (!entry.window) {
    return renewal_by_share(v.not_before, v.not_after, settings_->renew_percent_left,
                            entry.share_random);
  }
  if (entry.window_renewed == 0) return entry.window_at;
  const double since =
      static_cast<double>(monotonic_now() - entry.window_renewed) / static_cast<double>(kSecond);
  return std::max(entry.window_at,
                  wall_seconds() - since + between_windows(v.not_before, v.not_after));
}

void Attendant::poll_window(Entry& entry) {
  if (monotonic_now() < entry.next_poll) return;
  entry.next_poll = monotonic_now() + next_poll(0);
  if (entry.validity->renewal_id.empty()) return;
  if (const auto ok = session_.begin(); !ok) {
    entry.next_poll = monotonic_now() + kPollAfterFailure;
    return;
  }
  if (session_.directory().renewal_info.empty()) return;
  auto answer = session_.renewal_info(entry.validity->renewal_id);
  if (!answer) {
    log::warning("acme", "{}: {}", entry.title(), answer.error().text);
    entry.next_poll = monotonic_now() + std::max(kPollAfterFailure, answer.error().retry_after);
    return;
  }
  entry.next_poll = monotonic_now() + next_poll(answer->retry_after);
  const RenewalInfo& info = answer->info;
  if (entry.window && entry.window->start == info.start && entry.window->end == info.end) return;
  const double now = wall_seconds();
  entry.window_at = renewal_by_window(info, entry.validity->not_before, entry.validity->not_after,
                                      now, random_unit());
  entry.window = info;
  log::info("acme", "{}: the CA wants the certificate renewed in {}{}{}", entry.title(),
            duration_words(due_at(entry) - now), info.explanation.empty() ? "" : ", see ",
            info.explanation);
}

Nanos Attendant::next_look(const Entry& entry) const {
  const Nanos now = monotonic_now();
  Nanos next = now;  // without a certificate: as soon as it may be tried again
  if (entry.validity) {
    next += kLookForOthers;
    const double seconds = std::clamp(due_at(entry) - wall_seconds(), 0.0, 60.0);
    next = std::min(next, now + static_cast<Nanos>(seconds * static_cast<double>(kSecond)));
    next = std::min(next, std::max(entry.next_poll, now));
  }
  return std::max(next, std::min(entry.retry_at, now + kLookForOthers));
}

Nanos Attendant::attend(Entry& entry) {
  adopt_stored(entry);
  if (entry.validity) {
    poll_window(entry);
    if (due_at(entry) > wall_seconds()) return next_look(entry);
  }
  if (monotonic_now() < entry.retry_at) return next_look(entry);
  return renew(entry);
}

Nanos Attendant::renew(Entry& entry) {
  const auto lock = Storage::lock(file_of(entry));
  if (!lock) return failed(entry, {lock.error().message, "", 0});
  if (!*lock) {
    return monotonic_now() + kLookAtLock / 2 +
           static_cast<Nanos>(random_unit() * static_cast<double>(kLookAtLock));
  }
  // Another process may have been faster.
  if (adopt_stored(entry) && due_at(entry) > wall_seconds()) return next_look(entry);
  Nanos again = 0;
  if (entry.on_demand && entry.validity && !may_renew(entry, again)) return again;
  // A CA's rate limit is not spent on what could not be kept.
  if (auto ok = Storage::check_room(file_of(entry)); !ok) {
    return failed(entry, {ok.error().message, "", 0});
  }
  return order(entry);
}

// The operator may have changed his mind since; then the certificate serves until it expires.
bool Attendant::may_renew(const Entry& entry, Nanos& again) {
  const Permission permission = asker_.ask(entry.names.front());
  if (permission == Permission::allowed) return true;
  again = monotonic_now() + settings_->on_demand.deny_for;
  if (wall_seconds() < static_cast<double>(entry.validity->not_after)) return false;
  if (permission == Permission::unknown) return false;
  log::info("acme", "{}: expired, and not renewed since the ask URL says no", entry.title());
  host_.withdraw(entry.id);
  Storage::remove(file_of(entry));
  again = kNever;
  return false;
}

Nanos Attendant::order(Entry& entry) {
  const bool by_window = entry.validity && entry.window.has_value();
  OrderRequest request{entry.names, entry.validity ? entry.validity->renewal_id : std::string()};
  log::info("acme", "{}: ordering a certificate", entry.title());
  auto pem = obtain(session_, host_, request);
  if (!pem) return failed(entry, pem.error());
  Stored stored;
  stored.id = entry.id;
  stored.names = entry.names;
  stored.is_default = entry.is_default;
  stored.pem = std::move(*pem);
  auto validity = check_issued(stored.pem, "what the CA issued", entry.names, settings_->key_type);
  if (!validity) return failed(entry, {validity.error().message, "", 0});
  const auto now = static_cast<int64_t>(wall_seconds());
  if (validity->not_after <= now) {
    return failed(entry, {"what the CA issued has expired; is this machine's clock right?", "", 0});
  }
  // CAs date back. Counted from there, a short-lived one could be due as soon as it is issued, and
  // another ordered without end.
  validity->not_before = std::max(validity->not_before, now);
  if (auto ok = Storage::write(file_of(entry), stored.pem); !ok) {
    log::error("acme", "{}: the new certificate is used, but not stored: {}", entry.title(),
               ok.error().message);
  }
  entry.version = Storage::version_of(file_of(entry));
  if (auto ok = host_.publish(stored); !ok) return failed(entry, {ok.error().message, "", 0});
  entry.validity = std::move(*validity);
  succeeded(entry, by_window);
  return monotonic_now();
}

void Attendant::succeeded(Entry& entry, bool by_window) {
  if (entry.failures != 0) kFailing.subtract();
  kIssued.add();
  entry.failures = 0;
  entry.retry_at = 0;
  entry.share_random = random_unit();
  entry.window.reset();
  entry.next_poll = 0;
  entry.window_renewed = by_window ? monotonic_now() : 0;
  const double now = wall_seconds();
  log::info("acme", "{}: a new certificate is in use, valid for {}; renewal in {}", entry.title(),
            duration_words(static_cast<double>(entry.validity->not_after) - now),
            duration_words(due_at(entry) - now));
}

Nanos Attendant::failed(Entry& entry, const Failure& why) {
  if (stop_.load(std::memory_order_relaxed)) return monotonic_now() + kLookForOthers;
  if (entry.failures == 0) kFailing.add();
  kOrdersFailed.add();
  ++entry.failures;
  const Nanos delay = back_off(entry.failures, settings_->retry_min, settings_->retry_max,
                               why.retry_after, random_unit());
  entry.retry_at = monotonic_now() + delay;
  const double wait = static_cast<double>(delay) / static_cast<double>(kSecond);
  if (entry.validity) {
    const double left = static_cast<double>(entry.validity->not_after) - wall_seconds();
    log::error("acme", "{}: not renewed: {}; the old certificate is kept ({}), next attempt in {}",
               entry.title(), why.text,
               left > 0 ? "valid for another " + duration_words(left) : "it has expired",
               duration_words(wait));
    return next_look(entry);
  }
  if (entry.on_demand) {
    log::error("acme", "{}: no certificate: {}", entry.title(), why.text);
    kFailing.subtract();
    return kNever;
  }
  log::error("acme", "{}: no certificate: {}; next attempt in {}", entry.title(), why.text,
             duration_words(wait));
  return next_look(entry);
}

}  // namespace pqedge::acme
