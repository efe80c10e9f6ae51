// One direction of the emulated link, without sockets and without a clock: packets in with their
// times, packets out with theirs (M19).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "measure/link/middlebox.h"
#include "measure/link/packet.h"
#include "measure/link/settings.h"

namespace pqedge::measure::link {

struct Counters {
  uint64_t offered = 0;
  uint64_t delivered = 0;
  uint64_t lost = 0;        // by chance
  uint64_t overflowed = 0;  // the queue was full
  uint64_t too_big = 0;     // dropped for the MTU
  uint64_t fragmented = 0;  // packets that were cut
  uint64_t fragments_dropped = 0;
  uint64_t duplicated = 0;
  uint64_t reordered = 0;
  uint64_t middlebox_dropped = 0;
};

// Chance is drawn for the n-th packet by (seed, n) alone: the same packets in the same order meet
// the same fate, whatever the clock does. Only a full queue depends on times.
class Link {
 public:
  // `direction` tells the two directions of one seed apart.
  Link(const Direction& settings, uint64_t seed, uint64_t direction);

  void offer(Bytes packet, Nanos now);

  // When the next packet is due; kNever without one.
  Nanos next() const { return queue_.empty() ? kNever : queue_.begin()->first; }
  struct Delivery {
    Packet packet;
    Nanos due;
  };
  // The next packet that is due at `now`, or nothing.
  std::optional<Delivery> take(Nanos now);
  // What the link itself says to the sender (ICMP, resets): at once, as from a box beside it.
  std::optional<Packet> take_answer();

  const Counters& counters() const { return counters_; }

 private:
  enum class Chance : uint64_t { kLoss = 1, kDuplicate, kReorder, kJitter };
  // Even in [0, 1).
  double draw(uint64_t packet, Chance what) const;
  void pass_mtu(HelloWatcher::Piece piece, Nanos now);
  void transmit(HelloWatcher::Piece piece, Nanos now);

  Direction settings_;
  uint64_t seed_;
  HelloWatcher watcher_;
  std::multimap<Nanos, Packet> queue_;  // by when due; equal times in the order of arrival
  std::vector<Packet> answers_;
  uint64_t number_ = 0;   // of packets that met chance
  Nanos free_at_ = 0;     // when the rate lets the next one begin
  Nanos latest_due_ = 0;  // jitter keeps the order
  Counters counters_;
};

}  // namespace pqedge::measure::link
