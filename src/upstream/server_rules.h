// What a pool says of servers that fail: checks, ejection, circuit breaker. Three tables of
// [[pool]].
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"

namespace pqedge::upstream {

// Active checks, made once for the process (jobs/health.h).
struct HealthSettings {
  enum class Kind : uint8_t { off, tcp, http, grpc };
  Kind kind = Kind::off;
  Nanos interval = 5 * kSecond;    // from the end of a check to the next; a tenth up or down
  Nanos interval_down = 0;         // of a server that is down; 0: as `interval`
  Nanos timeout = 2 * kSecond;     // of a whole check, connecting included
  uint32_t rise = 2;               // checks in a row until a server that is down is up
  uint32_t fall = 3;               // and until one that is up is down
  uint16_t port = 0;               // of the checks; 0: the server's
  std::string method = "GET";      // http: GET or HEAD
  std::string path = "/";          // http, with a query
  std::string host;                // http, grpc: the authority; empty: the server's address
  std::vector<uint16_t> statuses;  // http: what is well; empty: 200 to 399
  std::string body;                // http: must be in the first 64 KiB of the answer
  std::string service;             // grpc: as grpc.health.v1 names it; empty: the whole server
  friend bool operator==(const HealthSettings&, const HealthSettings&) = default;
};

// Passive ejection: who fails requests while others do not is left alone for a while.
struct OutlierSettings {
  bool on = false;
  uint32_t failures = 5;       // in a row; 0: they are not looked at
  uint32_t error_percent = 0;  // of the requests of a window; 0: not looked at
  uint32_t min_requests = 20;  // in a window, before their share of failures says anything
  Nanos window = 10 * kSecond;
  Nanos eject = 30 * kSecond;  // times how often it was ejected of late
  Nanos max_eject = 300 * kSecond;
  uint32_t max_percent = 50;  // of the pool's servers at a time; never the last one
  friend bool operator==(const OutlierSettings&, const OutlierSettings&) = default;
};

struct BreakerSettings {
  bool on = false;
  uint32_t failures = 5;        // in a row; 0: they are not looked at
  uint32_t error_percent = 50;  // of the requests of a window; 0: not looked at
  uint32_t min_requests = 20;
  Nanos window = 10 * kSecond;
  Nanos pause = 10 * kSecond;         // open: no request goes there
  uint32_t probes = 3;                // half-open: so many at most, and all have to go well
  Nanos probe_timeout = 5 * kSecond;  // half-open for longer: open again
  friend bool operator==(const BreakerSettings&, const BreakerSettings&) = default;
};

struct ServerRules {
  OutlierSettings outlier;
  BreakerSettings breaker;
  // What counts as a failure beside connections that fail, break or time out. Empty: 500 to 599
  // without 501 and 505, which say nothing of the server's health.
  std::vector<uint16_t> failure_statuses;
  bool operator==(const ServerRules&) const = default;
};

}  // namespace pqedge::upstream
