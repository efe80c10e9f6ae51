#include "upstream/server_state.h"

#include <algorithm>
#include <format>

#include "base/log.h"

namespace pqedge::upstream {
namespace {

constexpr int kTimeShift = 4;
constexpr uint64_t kDrainingBit = 8;
constexpr uint64_t kModeBits = 7;

counters::Counter series(std::string_view name, std::string_view help, const ServerState& s,
                         counters::Kind kind = counters::Kind::counter) {
  return counters::Counter(name, help, {{"pool", s.pool}, {"server", s.name}}, kind);
}

bool serves(Mode mode) { return mode == Mode::up || mode == Mode::half_open; }

std::string seconds(Nanos time) {
  return std::format("{:.3g}s", static_cast<double>(time) / static_cast<double>(kSecond));
}

}  // namespace

std::string_view text(Mode mode) {
  switch (mode) {
    case Mode::up: return "up";
    case Mode::half_open: return "half_open";
    case Mode::ejected: return "ejected";
    case Mode::open: return "open";
    case Mode::down: return "down";
  }
  return "unknown";
}

ServerState::ServerState(std::string pool_name, const ServerSettings& settings)
    : pool(std::move(pool_name)),
      name(settings.name),
      address(settings.address),
      word_(pack(Mode::up, false, 0)),
      changed_(monotonic_now()) {
  count.requests = series("pqedge_backend_requests_total", "Requests sent to the server.", *this);
  count.connects = series("pqedge_backend_connects_total", "Connections opened to it.", *this);
  count.connect_failures =
      series("pqedge_backend_connect_failures_total", "Connections that failed to open.", *this);
  count.resets = series("pqedge_backend_resets_total", "Exchanges the server broke off.", *this);
  count.retries = series("pqedge_backend_retries_total", "Requests sent again elsewhere.", *this);
  count.tls_resumptions = series("pqedge_backend_tls_resumptions_total",
                                 "TLS handshakes with it that resumed a session.", *this);
  count.tls_hello_retries =
      series("pqedge_backend_tls_hello_retries_total",
             "TLS handshakes in which it asked for another key share.", *this);
  count.open =
      series("pqedge_backend_connections", "Connections open now.", *this, counters::Kind::gauge);
  count.up = series("pqedge_backend_up",
                    "1 while the server takes requests, 0 while it is down, "
                    "ejected, or its breaker is open.",
                    *this, counters::Kind::gauge);
  count.up.add();
}

ServerState::~ServerState() {
  if (serves(mode())) count.up.subtract();
  if (mode() == Mode::ejected && circle_ != nullptr) {
    circle_->ejected.fetch_sub(1, std::memory_order_relaxed);
  }
}

uint64_t ServerState::pack(Mode mode, bool draining, Nanos time) {
  return (time << kTimeShift) | (draining ? kDrainingBit : 0) | static_cast<uint64_t>(mode);
}

Mode ServerState::mode() const {
  return static_cast<Mode>(word_.load(std::memory_order_relaxed) & kModeBits);
}

// ---- choosing ----------------------------------------------------------------------------------

Standing ServerState::standing(Nanos now) const {
  using Use = Standing::Use;
  const uint64_t word = word_.load(std::memory_order_relaxed);
  const Nanos time = word >> kTimeShift;
  Standing s{.draining = (word & kDrainingBit) != 0};
  switch (static_cast<Mode>(word & kModeBits)) {
    case Mode::up: s.since = time; break;
    case Mode::half_open: {
      const bool place = places_.load(std::memory_order_relaxed) != 0;
      s.use = place || now >= time ? Use::ask : Use::no;
      break;
    }
    case Mode::ejected:
    case Mode::open: s.use = now >= time ? Use::ask : Use::no; break;
    case Mode::down: s.use = Use::no; break;
  }
  return s;
}

bool ServerState::enter(Nanos now, Ticket& ticket) {
  ticket.round = 0;
  return mode() == Mode::up || enter_slowly(now, ticket);
}

bool ServerState::enter_slowly(Nanos now, Ticket& ticket) {
  const std::lock_guard lock(mutex_);
  const Nanos time = word_.load(std::memory_order_relaxed) >> kTimeShift;
  if (mode() == Mode::down || (mode() != Mode::half_open && mode() != Mode::up && now < time)) {
    return false;
  }
  if (mode() == Mode::ejected) change(Mode::up, now, "its time is over", now);
  if (mode() == Mode::open) {
    ++round_;
    well_ = 0;
    places_.store(std::max(1U, rules_.breaker.probes), std::memory_order_relaxed);
    change(Mode::half_open, now + rules_.breaker.probe_timeout, "the pause is over", now);
  }
  if (mode() == Mode::up) return true;
  if (now >= word_.load(std::memory_order_relaxed) >> kTimeShift) {
    change(Mode::open, now + rules_.breaker.pause, "a probe got no answer in time", now);
    return false;
  }
  const uint32_t places = places_.load(std::memory_order_relaxed);
  if (places == 0) return false;
  places_.store(places - 1, std::memory_order_relaxed);
  ticket.round = round_;
  return true;
}

void ServerState::leave(Ticket& ticket) {
  const uint32_t round = std::exchange(ticket.round, 0);
  if (round == 0) return;
  const std::lock_guard lock(mutex_);
  if (mode() == Mode::half_open && round == round_) {
    places_.fetch_add(1, std::memory_order_relaxed);
  }
}

// ---- keeping -----------------------------------------------------------------------------------

// Every change of state is here: one line in the log, one count.
void ServerState::change(Mode to, Nanos time, std::string_view why, Nanos now) {
  const Mode from = mode();
  const bool draining = (word_.load(std::memory_order_relaxed) & kDrainingBit) != 0;
  word_.store(pack(to, draining, time), std::memory_order_relaxed);
  if (from == to) return;
  failures_.store(0, std::memory_order_relaxed);
  window_.store(0, std::memory_order_relaxed);
  if (from == Mode::ejected) {
    returned_ = now;
    if (circle_ != nullptr) circle_->ejected.fetch_sub(1, std::memory_order_relaxed);
  }
  if (serves(to) && !serves(from)) count.up.add();
  if (!serves(to) && serves(from)) count.up.subtract();
  changed_ = now;
  changed_wall_ = wall_now() / kSecond;
  reason_ = why;
  ++transitions_;
  counters::Counter("pqedge_backend_state_changes_total",
                    "Changes of a server's state, by the state that it came into.",
                    {{"pool", pool}, {"server", name}, {"to", std::string(text(to))}})
      .add();
  std::string until;
  if (to == Mode::open || to == Mode::ejected) until = ", for " + seconds(time - now);
  const auto level = serves(to) ? log::Level::info : log::Level::warning;
  log::at(level, "backend", "pool '{}': server {}: {} -> {}{}: {}", pool, name, text(from),
          text(to), until, why);
}

void ServerState::configure(const ServerRules& rules, std::shared_ptr<Circle> circle,
                            bool latency_wanted) {
  const Nanos now = monotonic_now();
  const std::lock_guard lock(mutex_);
  if (mode() == Mode::ejected && circle != circle_) {
    if (circle_ != nullptr) circle_->ejected.fetch_sub(1, std::memory_order_relaxed);
    if (circle != nullptr) circle->ejected.fetch_add(1, std::memory_order_relaxed);
  }
  circle_ = std::move(circle);
  rules_ = rules;
  const bool by_window = (rules.breaker.on && rules.breaker.error_percent != 0) ||
                         (rules.outlier.on && rules.outlier.error_percent != 0);
  const bool breaker_first = rules.breaker.on && rules.breaker.error_percent != 0;
  window_length_.store(!by_window      ? 0
                       : breaker_first ? rules.breaker.window
                                       : rules.outlier.window,
                       std::memory_order_relaxed);
  watched_.store(rules.breaker.on || rules.outlier.on, std::memory_order_relaxed);
  timed_.store(latency_wanted, std::memory_order_relaxed);
  const bool broken = mode() == Mode::open || mode() == Mode::half_open;
  if ((broken && !rules.breaker.on) || (mode() == Mode::ejected && !rules.outlier.on)) {
    change(Mode::up, now, "the configuration has no such rule any more", now);
  }
}

void ServerState::set_draining(bool draining) {
  const std::lock_guard lock(mutex_);
  const uint64_t word = word_.load(std::memory_order_relaxed);
  if (((word & kDrainingBit) != 0) == draining) return;
  word_.store(word ^ kDrainingBit, std::memory_order_relaxed);
  log::info("backend", "pool '{}': server {}: {}", pool, name,
            draining ? "drains: it gets no new clients" : "does not drain any more");
}

void ServerState::set_checked(bool up, std::string_view why, Nanos now) {
  const std::lock_guard lock(mutex_);
  if (up && mode() == Mode::down) change(Mode::up, now, why, now);
  if (!up && mode() != Mode::down) change(Mode::down, now, why, now);
}

void ServerState::note_check(bool well, std::string_view text, Nanos took) {
  const std::lock_guard lock(mutex_);
  check_well_ = well;
  check_ = text;
  checked_ = wall_now() / kSecond;
  check_took_ = took;
}

void ServerState::reset(Nanos now) {
  const std::lock_guard lock(mutex_);
  ejections_ = 0;
  failures_.store(0, std::memory_order_relaxed);
  window_.store(0, std::memory_order_relaxed);
  passed_over_until.store(0, std::memory_order_relaxed);
  if (mode() != Mode::up) change(Mode::up, now, "an operator said so", now);
}

ServerState::Facts ServerState::facts(Nanos now) const {
  const std::lock_guard lock(mutex_);
  const uint64_t word = word_.load(std::memory_order_relaxed);
  const Nanos time = word >> kTimeShift;
  Facts f{.mode = mode(), .draining = (word & kDrainingBit) != 0};
  f.in_mode_for = now > changed_ ? now - changed_ : 0;
  if ((f.mode == Mode::ejected || f.mode == Mode::open) && time > now) f.left = time - now;
  f.failures = failures_.load(std::memory_order_relaxed);
  f.ejections = ejections_;
  f.transitions = transitions_;
  f.reason = reason_;
  f.changed = changed_wall_;
  f.check_well = check_well_;
  f.check = check_;
  f.checked = checked_;
  f.check_took = check_took_;
  return f;
}

// ---- Registry ----------------------------------------------------------------------------------

std::shared_ptr<ServerState> Registry::get(const std::string& pool, const ServerSettings& server) {
  const std::lock_guard lock(mutex_);
  // Servers that are gone: looked for now and then only, since a load asks for a thousand.
  if (states_.size() >= sweep_at_) {
    std::erase_if(states_, [](const auto& entry) { return entry.second.expired(); });
    sweep_at_ = std::max<size_t>(64, states_.size() * 2);
  }
  auto& slot = states_[{pool, server.address.to_string()}];
  if (auto existing = slot.lock()) return existing;
  auto made = std::make_shared<ServerState>(pool, server);
  slot = made;
  return made;
}

}  // namespace pqedge::upstream
