// What an exchange tells a pool to choose a server by.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace pqedge::upstream {

class ServerState;

// One exchange's, for one pool, over all of its attempts. Pool::read_choice() fills it in before
// the first acquire(); between attempts the exchange adds what is to be avoided.
class Choice {
 public:
  // A hash of the key that the pool's `hash_by` names; only with `keyed`.
  uint64_t key = 0;
  bool keyed = false;

  // Affinity: the member (Member::id) that the client is tied to, 0: to none; and its key in the
  // pool's table of ties, 0: it has none there.
  uint64_t tied_to = 0;
  uint64_t tie_key = 0;

  // A server that failed this request, or is at work on it (hedging): chosen only where there is no
  // other. The last few are remembered. It is compared, never looked into.
  void avoid(const ServerState* server) {
    if (server == nullptr || avoids(server)) return;
    avoided_[next_] = server;
    next_ = (next_ + 1) % avoided_.size();
  }
  bool avoids(const ServerState* server) const {
    for (const ServerState* a : avoided_) {
      if (a == server) return true;
    }
    return false;
  }
  bool avoids_any() const { return avoided_[0] != nullptr; }

 private:
  std::array<const ServerState*, 6> avoided_{};
  uint8_t next_ = 0;
};

}  // namespace pqedge::upstream
