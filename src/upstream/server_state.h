// What all workers share about one backend server. Survives reloads: the same pool name and address
// give the same state.
//
// Whether it takes requests is one state machine (server_state.cc, docs/internals/servers.md):
//
//                      failures in a row, share of failures
//         +----------------- up -----------------+
//         v                  ^ ^                 v
//      ejected --its time----+ +--probes went   open --its pause--> half_open
//                                 well-----------^-------------------|  ^
//                                                '-a probe failed, or no answer in time
//      any --checks failed--> down --checks went well--> up
//
// `draining` is beside it: an operator's word.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "base/counters.h"
#include "base/time.h"
#include "crypto/backend_tls.h"
#include "net/address.h"
#include "upstream/latency.h"
#include "upstream/server_rules.h"
#include "upstream/settings.h"

namespace pqedge::upstream {

enum class Mode : uint8_t { up, half_open, ejected, open, down };
std::string_view text(Mode mode);

// Whether a server may take a request, at one moment.
struct Standing {
  enum class Use : uint8_t {
    yes,
    ask,  // its time of rest is over, or it takes a few probes: enter() may say no
    no,   // in no case
  };
  Use use = Use::yes;
  bool draining = false;  // only for clients that are tied to it
  Nanos since = 0;        // it takes requests since then (slow start); 0: since the program began
};

// A request's right to be at a server: from enter(), given back by report() or leave().
struct Ticket {
  uint32_t round = 0;  // of the probes; 0: it is none
};

// What became of a request.
struct Outcome {
  enum class Kind : uint8_t {
    answered,        // `status` and `first_byte` are there
    connect_failed,  // refused, unreachable, TLS failed
    timed_out,       // connecting, or no answer in time
    reset,           // broken off before or amid the answer
    nothing,         // says nothing of the server: the client left, a kept connection had died,
                     // a stream was refused by GOAWAY
  };
  Kind kind = Kind::nothing;
  uint16_t status = 0;
  Nanos first_byte = 0;  // from the request's sending to the answer's first byte; 0: unknown
};

// What the servers of one pool share: how many of them may be ejected at a time.
struct Circle {
  std::atomic<uint32_t> members{0};
  std::atomic<uint32_t> ejected{0};
};

class ServerState {
 public:
  ServerState(std::string pool, const ServerSettings& settings);
  ~ServerState();

  const std::string pool;
  const std::string name;
  const net::Address address;

  // Requests in flight in the process: what least-connections compares. The one shared cache line
  // that a request writes.
  alignas(64) std::atomic<uint32_t> active{0};

 private:
  // Of the present window: its number (24 bits), requests (20), failures (20). In the line of
  // `active`, which the request writes anyway.
  std::atomic<uint64_t> window_{0};

 public:
  alignas(64) std::atomic<uint32_t> connections{0};  // open or opening, in the process
  // After a failed connect the server is passed over until then, while others can serve.
  std::atomic<Nanos> passed_over_until{0};

  // The group that it asked for by a HelloRetryRequest, as a code point; 0: none. Its share goes
  // into the next hello, beside those of the settings.
  std::atomic<uint16_t> tls_group{0};
  // When each kind of TLS failure was last written to the log.
  std::array<std::atomic<Nanos>, crypto::kBackendFaults> tls_warned{};

  Latency latency;  // kept where the pool balances by it

  struct {
    counters::Counter requests;
    counters::Counter connects;
    counters::Counter connect_failures;
    counters::Counter resets;
    counters::Counter retries;
    counters::Counter open;  // gauge
    counters::Counter tls_resumptions;
    counters::Counter tls_hello_retries;
    counters::Counter up;  // gauge: 1 while the state is up or half_open
  } count;

  // ---- for those who choose: any thread ----

  // One relaxed load.
  Standing standing(Nanos now) const;
  // Just before a request is given to it. False: it takes none, and another is to be chosen. Where
  // standing() said yes this is the same load again; a probe takes one of few places.
  bool enter(Nanos now, Ticket& ticket);
  // The request did not go there after all, or is given up: the place is free again.
  void leave(Ticket& ticket);
  // Once for each request that was there, at its end; gives back the ticket. Without checks,
  // breaker and ejection it is one load.
  void report(const Outcome& outcome, Ticket& ticket, Nanos now);

  // ---- for those who keep it: main thread and jobs ----

  // `latency`: the times of answers are wanted.
  void configure(const ServerRules& rules, std::shared_ptr<Circle> circle, bool latency);
  void set_draining(bool draining);
  // What the checks make of it; `why` in the log. Without checks any more: up.
  void set_checked(bool up, std::string_view why, Nanos now);
  // What one check found, for those who look.
  void note_check(bool well, std::string_view text, Nanos took);
  // An operator says that it is well: up, its failures forgotten.
  void reset(Nanos now);

  struct Facts {
    Mode mode = Mode::up;
    bool draining = false;
    Nanos in_mode_for = 0;   // since the last change, or since it is known
    Nanos left = 0;          // ejected, open: of its time
    uint32_t failures = 0;   // in a row
    uint32_t ejections = 0;  // that make the next one longer
    uint64_t transitions = 0;
    std::string reason;       // of the last change; empty: none yet
    uint64_t changed = 0;     // when, in seconds of the Unix epoch; 0: never
    bool check_well = false;  // of the last check
    std::string check;        // what it found; empty: there was none
    uint64_t checked = 0;     // when, in seconds of the Unix epoch
    Nanos check_took = 0;
  };
  Facts facts(Nanos now) const;

  // For the process that takes this one's place (server_known.cc).
  struct Known {
    Mode mode = Mode::up;
    Nanos time = 0;  // up: since when, 0: always; ejected, open: until when
    uint32_t ejections = 0;
    std::string reason = {};
    bool is_plain() const { return mode == Mode::up && time == 0 && ejections == 0; }
  };
  Known known(Nanos now) const;
  // In that process, once. `checked`: there are checks that can bring it up again.
  void go_on_with(const Known& before, bool checked, Nanos now);

 private:
  static uint64_t pack(Mode mode, bool draining, Nanos time);
  bool enter_slowly(Nanos now, Ticket& ticket);
  void report_slowly(const Outcome& outcome, const Ticket& ticket, Nanos now);
  // All below with mutex_ held.
  Mode mode() const;
  bool is_failure(const Outcome& outcome) const;
  void on_failure(const Outcome& outcome, Nanos now);
  bool may_be_ejected();
  void eject(std::string_view why, Nanos now);
  void change(Mode to, Nanos time, std::string_view why, Nanos now);
  void count_request(bool failed, Nanos now);
  // Requests and failures of the present window.
  std::pair<uint32_t, uint32_t> window(Nanos now) const;

  // ---- read by each request, written by few ----
  // Mode (3 bits), draining (1), a time in nanoseconds (60): up: since when; half_open, ejected,
  // open: until when; down: since when.
  alignas(64) std::atomic<uint64_t> word_;
  std::atomic<uint32_t> places_{0};      // half_open: probes that may still come
  std::atomic<uint32_t> failures_{0};    // in a row
  std::atomic<Nanos> window_length_{0};  // 0: requests are not counted by window
  std::atomic<bool> watched_{false};     // breaker or ejection is on
  std::atomic<bool> timed_{false};       // latency is wanted

  mutable std::mutex mutex_;
  ServerRules rules_;
  std::shared_ptr<Circle> circle_;
  uint32_t round_ = 0;  // of probes
  uint32_t well_ = 0;   // probes of this round that went well
  uint32_t ejections_ = 0;
  Nanos returned_ = 0;  // from the last ejection
  Nanos changed_ = 0;
  uint64_t changed_wall_ = 0;
  uint64_t transitions_ = 0;
  std::string reason_;
  bool check_well_ = false;
  std::string check_;
  uint64_t checked_ = 0;
  Nanos check_took_ = 0;
};

// Hands out the state of each (pool, server), the same as long as anyone holds it. Thread safe.
class Registry {
 public:
  std::shared_ptr<ServerState> get(const std::string& pool, const ServerSettings& server);

 private:
  std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, std::weak_ptr<ServerState>> states_;
  size_t sweep_at_ = 64;
};

}  // namespace pqedge::upstream
