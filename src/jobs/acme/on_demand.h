// Who may have a certificate made by asking for it. Decides from what is known; who is allowed is
// asked for elsewhere. All in memory bounded, whatever clients send.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/time.h"
#include "jobs/acme/settings.h"

namespace pqedge::acme {

// Any thread. Times are passed in.
class OnDemandGate {
 public:
  using Wake = std::function<void()>;

  explicit OnDemandGate(OnDemandSettings settings);

  const OnDemandSettings& settings() const { return settings_; }

  enum class Verdict : uint8_t {
    waits,     // `wake` is called once, when there is news or its time is up
    ask,       // the same, and the name is to be asked about: take it with next_question()
    bad_name,  // no host name that a CA issues for
    denied,    // a refusal is remembered
    limited,   // too many new names in this minute
    full,      // max_names, or too many waiting
  };
  Verdict request(std::string_view host, Wake wake, Nanos now);

  // A name to be asked about; empty: none now.
  std::string next_question();
  // It has a certificate, or will not get one now: who waits is woken.
  void granted(const std::string& host);
  void refused(const std::string& host, Nanos until);
  // A name has, or no longer has, a certificate of ours.
  void count_names(size_t names);
  // Wakes those whose time is up; returns when the next one's is (kNever: nobody waits).
  Nanos wake_late(Nanos now);

 private:
  struct Waiter {
    Wake wake;
    Nanos until;
  };
  bool take_token(Nanos now);
  std::vector<Wake> take_waiters(const std::string& host);

  const OnDemandSettings settings_;
  std::mutex mutex_;
  std::unordered_map<std::string, std::vector<Waiter>> pending_;
  std::deque<std::string> questions_;
  struct Refusal {
    std::string host;
    Nanos until;
  };
  std::list<Refusal> refusals_;  // oldest first
  std::unordered_map<std::string_view, std::list<Refusal>::iterator> refused_;
  size_t waiting_ = 0;
  size_t names_ = 0;
  double tokens_;
  Nanos filled_at_ = 0;
};

}  // namespace pqedge::acme
