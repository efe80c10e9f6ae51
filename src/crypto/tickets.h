// One ring of session-ticket keys for all workers, both contexts, and every reload (T6, basic).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace pqedge::crypto {

struct TicketKey {
  std::array<uint8_t, 16> name;
  std::array<uint8_t, 32> key;  // AES-256-GCM (or AES-256-CBC + HMAC as the library's API needs)
  std::array<uint8_t, 32> mac;
  Nanos created = 0;            // monotonic
};

// Thread safe. Keys roll by age when they are asked for; older keys decrypt until `lifetime`.
class TicketKeyRing {
 public:
  static std::shared_ptr<TicketKeyRing> create(Nanos lifetime);
  TicketKey current(Nanos now);
  // The key of that name and whether a new ticket should be issued (it is no longer current).
  struct Found {
    TicketKey key;
    bool renew;
  };
  std::optional<Found> find(const uint8_t name[16], Nanos now);
  void set_lifetime(Nanos lifetime);

 private:
  explicit TicketKeyRing(Nanos lifetime) : lifetime_(lifetime) {}
  std::mutex mutex_;
  Nanos lifetime_;
  std::vector<TicketKey> keys_;  // newest first
};

}  // namespace pqedge::crypto
