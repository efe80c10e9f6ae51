// One budget a connection for everything that costs us work and is of no use: a token bucket that
// time and useful work refill. When it is spent the connection ends with ENHANCE_YOUR_CALM.
//
// One shared budget, not one limit a frame type: a client that mixes PING, SETTINGS and RST_STREAM
// gets no more out of us than one that sticks to one of them.
//   CVE-2019-9511 (window dribble), -9512 (PING), -9513 (PRIORITY), -9514 (reset), -9515
//   (SETTINGS), -9518 (empty frames); CVE-2023-44487 (Rapid Reset); CVE-2024-27316 and others
//   (CONTINUATION); CVE-2025-8671 (MadeYouReset: resets that the peer makes the server send).
#pragma once

#include <cstdint>
#include <string_view>

#include "base/time.h"

namespace pqedge::http2 {

// What is charged for. The names are the values of the `kind` label.
enum class Charge : uint8_t {
  empty_data,  // no payload and no END_STREAM, or padding only
  tiny_data,   // less than kTinyData bytes of payload and no END_STREAM
  headers,     // earned back when the stream finishes in good order
  continuation,
  priority,        // PRIORITY and PRIORITY_UPDATE
  reset,           // RST_STREAM by the peer
  provoked_reset,  // RST_STREAM by us because the peer broke a rule or a limit
  settings,
  ping,
  window_update,
  unknown,         // frames of types we do not know, and GOAWAY
  oversized_head,  // a head or trailer section answered with 431
  count_
};
std::string_view charge_name(Charge charge);

class FloodBudget {
 public:
  // Points. An ordinary control frame costs kFrame; the other costs are in the .cc.
  static constexpr int32_t kFrame = 16;
  // A browser that leaves a page cancels some hundred streams at once.
  static constexpr int32_t kCapacity = 1000 * kFrame;
  static constexpr int32_t kPerSecond = 100 * kFrame;
  // What a finished request gives back: its HEADERS, and the HEADERS and RST_STREAM of another. So
  // a client may cancel every second request for ever.
  static constexpr int32_t kFinishedStream = 3 * kFrame;
  // A DATA frame we sent: most clients answer it with at most a WINDOW_UPDATE for the stream and
  // one for the connection.
  static constexpr int32_t kSentData = 2 * kFrame;

  // What a DATA frame with less than a few bytes costs.
  static constexpr int32_t kTinyData = 1;

  explicit FloodBudget(Nanos now) : refilled_at_(now) {}

  // False: the budget is spent.
  bool spend(Charge charge, Nanos now);
  void earn(int32_t points) {
    points_ += points;
    if (points_ > kCapacity) points_ = kCapacity;
  }
  int32_t points() const { return points_; }

 private:
  bool refill(Nanos now);

  int32_t points_ = kCapacity;
  Nanos refilled_at_;
};

}  // namespace pqedge::http2
