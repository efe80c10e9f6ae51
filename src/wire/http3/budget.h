// How much nonsense a connection may bring. Each kind costs, time earns: a peer that spends more
// than that is ended with H3_EXCESSIVE_LOAD.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "wire/quic/rate.h"

namespace pqedge::http3 {

enum class Nuisance : uint8_t {
  request_cancelled,  // a request was reset, or its answer refused, before it was complete
  bad_request,        // refused by the codec
  empty_data,         // DATA frames without data
  unknown_frame,
  control_frame,   // GOAWAY and MAX_PUSH_ID: there is no need for many
  unknown_stream,  // unidirectional streams of unknown types
  priority_update,
  qpack_blocked,       // a section that had to wait for the dynamic table
  qpack_instructions,  // far more of them than requests use
  ping,                // keeps a connection open, now and then
  stalled_stream,      // reaped: the peer took nothing for limits.send_timeout
  count_
};

class Budget {
 public:
  // False: the connection must end. Counts by kind.
  bool charge(Nuisance kind, Nanos now, uint64_t times = 1);

 private:
  static constexpr uint64_t kBurst = 4000;
  static constexpr uint64_t kPerSecond = 400;
  quic::RateLimit tokens_{kPerSecond, kBurst};
};

}  // namespace pqedge::http3
