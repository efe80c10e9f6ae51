// The last streams that ended, to tell a frame that was under way when we reset a stream (ignored)
// from a frame on a stream that never was, or that the client itself had ended (RFC 9113 5.1).
#pragma once

#include <cstdint>
#include <vector>

namespace pqedge::http2 {

class RecentStreams {
 public:
  // Streams that we reset within a round trip are at most a few times those that may be open.
  static constexpr size_t kRemembered = 256;

  enum class Ending : uint8_t { unknown, reset_by_us, ended_by_peer };

  void add(int32_t id, bool reset_by_us) {
    const uint32_t entry = static_cast<uint32_t>(id) | (reset_by_us ? kOurs : 0);
    if (ring_.size() < kRemembered) {
      ring_.push_back(entry);
    } else {
      ring_[next_] = entry;
      next_ = (next_ + 1) % kRemembered;
    }
  }

  Ending find(uint32_t id) const {
    for (const uint32_t entry : ring_) {
      if ((entry & ~kOurs) == id) {
        return (entry & kOurs) != 0 ? Ending::reset_by_us : Ending::ended_by_peer;
      }
    }
    return Ending::unknown;
  }

 private:
  static constexpr uint32_t kOurs = 0x8000'0000;

  std::vector<uint32_t> ring_;  // stream identifiers, with kOurs
  size_t next_ = 0;
};

}  // namespace pqedge::http2
