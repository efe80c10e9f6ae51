// One certificate's state in jobs/ocsp.cc.
#pragma once

#include <string>
#include <string_view>

#include "base/counters.h"
#include "jobs/ocsp.h"

namespace pqedge::jobs {

struct OcspCounters {
  counters::Counter good, revoked, failed;                       // questions, by result
  counters::Counter stapled, failing, revoked_now, must_staple;  // certificates
};
const OcspCounters& ocsp_counters();

// A gauge's share of one certificate.
class Flag {
 public:
  void set(bool on, const counters::Counter& gauge) {
    if (on == on_) return;
    on ? gauge.add() : gauge.subtract();
    on_ = on;
  }

 private:
  bool on_ = false;
};

struct OcspJob::Entry {
  OcspSubject subject;
  std::string request;
  bool gone = false;
  bool asking = false;
  unsigned failures = 0;
  size_t responder = 0;
  std::string response;  // empty: none that may be sent
  std::string timestamps;
  std::string status;
  std::string error;
  int64_t this_update = 0;
  int64_t valid_until = 0;
  int64_t next_question = 0;
  uint64_t questions = 0;  // a timer of an earlier one does nothing
  Flag stapled, failing, revoked, missing;

  void count(bool present) {
    stapled.set(present && !response.empty(), ocsp_counters().stapled);
    failing.set(present && !error.empty(), ocsp_counters().failing);
    revoked.set(present && status == "revoked", ocsp_counters().revoked_now);
    missing.set(present && subject.must_staple && response.empty(), ocsp_counters().must_staple);
  }
};

inline constexpr std::string_view kMustStaple =
    "; the certificate demands one (must-staple), so that clients will refuse it";

}  // namespace pqedge::jobs
