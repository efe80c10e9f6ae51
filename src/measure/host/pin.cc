#include "measure/host/pin.h"

#include <algorithm>
#include <cerrno>
#include <format>
#include <string>

namespace pqedge::measure {

namespace {

// "0-3,8".
std::string ranges(const std::vector<int>& cores) {
  std::string text;
  for (size_t i = 0; i < cores.size();) {
    size_t last = i;
    while (last + 1 < cores.size() && cores[last + 1] == cores[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(cores[i]);
    if (last > i) text += std::format("-{}", cores[last]);
    i = last + 1;
  }
  return text;
}

Result<void> allow(const std::vector<int>& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) CPU_SET(static_cast<size_t>(core), &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0) {
    return fail_errno(errno, "cannot run on core {}", ranges(cores));
  }
  return {};
}

}  // namespace

Result<std::vector<int>> allowed_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  // A kernel for more than 1,024 cores answers EINVAL to a set of this size.
  if (sched_getaffinity(0, sizeof set, &set) != 0) {
    return fail_errno(errno, "cannot read which cores are allowed");
  }
  std::vector<int> cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(static_cast<size_t>(core), &set)) cores.push_back(core);
  }
  return cores;
}

int default_core(const std::vector<int>& allowed) { return allowed.empty() ? 0 : allowed.back(); }

Result<void> pin_thread(int core) {
  if (core < 0 || core >= CPU_SETSIZE) return fail("core {} cannot be: cores begin at 0", core);
  if (auto done = allow({core}); !done) return done;
  const auto now = allowed_cores();
  if (!now) return std::unexpected(now.error());
  const int runs_on = sched_getcpu();
  if (*now != std::vector<int>{core} || runs_on != core) {
    return fail("pinning to core {} did not hold: it runs on core {}, allowed are {}", core,
                runs_on, ranges(*now));
  }
  return {};
}

Result<CorePin> CorePin::take(std::optional<int> core) {
  auto allowed = allowed_cores();
  if (!allowed) return std::unexpected(allowed.error());
  const int wanted = core.value_or(default_core(*allowed));
  if (std::ranges::find(*allowed, wanted) == allowed->end()) {
    return fail("core {} is not allowed here: this process may run on {}", wanted,
                ranges(*allowed));
  }
  if (auto pinned = pin_thread(wanted); !pinned) {
    (void)allow(*allowed);
    return std::unexpected(pinned.error());
  }
  return CorePin(wanted, std::move(*allowed));
}

CorePin::CorePin(CorePin&& other) noexcept
    : core_(other.core_), allowed_before_(std::move(other.allowed_before_)) {
  other.allowed_before_.clear();
}

CorePin::~CorePin() {
  if (!allowed_before_.empty()) (void)allow(allowed_before_);
}

}  // namespace pqedge::measure
