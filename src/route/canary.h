// Which of a route's requests go to its canary (R13), and its way back.
//
//   on (share > 0) --too many answers of the canary failed--> rolled back (share 0)
//      ^                                                          |
//      +---------------- set_share(), by the control socket ------+
//
// Where clients stick to a side, each has a number, drawn once and kept in a cookie, or made of a
// field's value: those below the share are on the canary. So a larger share moves clients to it and
// none away from it, a smaller one the other way round, and a rollback moves all.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/counters.h"
#include "http/message.h"
#include "route/shape_settings.h"

namespace pqedge::route {

// One for all workers.
class Canary {
 public:
  Canary(CanarySettings settings, std::string route);

  struct Window {
    uint32_t requests = 0;
    uint32_t errors = 0;
  };
  struct Side {
    bool canary = false;
    std::string_view set_cookie;  // in the arena; empty: the client needs none
  };
  // `secure`: the client came over TLS.
  Side choose(const http::Request& request, bool secure) const;

  // How the answer to a request began that the canary had; and that one which had begun well did
  // not come to its end.
  void report(bool failed, Nanos now) { note({.requests = 1, .errors = failed}, now); }
  void report_broken_off(Nanos now) { note({.requests = 0, .errors = 1}, now); }

  uint32_t share() const { return share_.load(std::memory_order_relaxed); }
  // By hand, from any thread: it ends a rollback.
  void set_share(uint32_t share);
  // As it was in the process whose place this one takes.
  void go_on_with(uint32_t share, bool rolled_back);
  bool rolled_back() const { return rolled_back_.load(std::memory_order_relaxed); }

  const CanarySettings& settings() const { return settings_; }
  const std::string& route() const { return route_; }
  Window window(Nanos now) const;

 private:
  // The window is counted in slots: the oldest is dropped as time passes.
  static constexpr size_t kSlots = 10;
  struct Slot {
    uint64_t number = UINT64_MAX;  // of time
    Window count;
  };
  void note(Window one, Nanos now);
  Window sum(uint64_t newest) const;
  uint64_t slot_number(Nanos now) const { return now / slot_length_; }

  const CanarySettings settings_;
  const std::string route_;
  const Nanos slot_length_;
  std::atomic<uint32_t> share_;
  std::atomic<bool> rolled_back_{false};
  mutable std::mutex mutex_;  // of the slots
  Slot slots_[kSlots];
  counters::Counter canary_requests_, canary_errors_, rollbacks_;
};

// "12.5%": of a share in hundredths of a percent.
std::string share_text(uint32_t share);
// Of "12.5", without the sign; at most two decimals and 100.
std::optional<uint32_t> parse_share(std::string_view percent);

}  // namespace pqedge::route
