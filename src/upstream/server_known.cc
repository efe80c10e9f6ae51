// What one process knows of a server, for the process that takes its place (an upgrade). Times are
// of the monotonic clock, which is the machine's.
#include <algorithm>

#include "upstream/server_state.h"

namespace pqedge::upstream {

// No rest is longer, whatever the other process says.
constexpr Nanos kLongestRest = 24 * 3600 * kSecond;
// Before the reason that the other process had; not twice after two upgrades.
constexpr std::string_view kBefore = "as before the upgrade: ";

ServerState::Known ServerState::known(Nanos now) const {
  const Facts f = facts(now);
  Known k{.mode = f.mode, .ejections = f.ejections, .reason = f.reason};
  if (k.reason.starts_with(kBefore)) k.reason.erase(0, kBefore.size());
  switch (f.mode) {
    case Mode::up: k.time = standing(now).since; break;
    case Mode::ejected:
    case Mode::open: k.time = now + f.left; break;
    // Its probes are requests of the other process.
    case Mode::half_open:
      k.mode = Mode::open;
      k.time = now;
      break;
    case Mode::down: break;
  }
  return k;
}

void ServerState::go_on_with(const Known& before, bool checked, Nanos now) {
  const std::lock_guard lock(mutex_);
  if (mode() != Mode::up) return;  // what is known here is newer
  const std::string why = std::string(kBefore) + before.reason;
  const Nanos until = std::min(before.time, now + kLongestRest);
  switch (before.mode) {
    case Mode::up:
      // It came back of late: slow start goes on.
      if (before.time <= now) word_.store(pack(Mode::up, standing(now).draining, before.time));
      break;
    case Mode::ejected:
      if (rules_.outlier.on && until > now && may_be_ejected()) {
        change(Mode::ejected, until, why, now);
      }
      break;
    case Mode::open:
    case Mode::half_open:
      if (rules_.breaker.on) change(Mode::open, until, why, now);
      break;
    case Mode::down:
      // Nothing would bring it up again but a check.
      if (checked) change(Mode::down, now, why, now);
      break;
  }
  ejections_ = before.ejections;
  if (ejections_ != 0) returned_ = now;
}

}  // namespace pqedge::upstream
