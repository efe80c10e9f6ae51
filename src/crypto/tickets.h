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
  std::array<uint8_t, 32> key;  // AES-256-GCM
  std::array<uint8_t, 32> mac;  // HMAC-SHA-256 around it, which the library's callback wants
  Nanos created = 0;  // monotonic
};

// Thread safe. Keys roll at half of `lifetime` when they are asked for. A key decrypts for half of
// `lifetime` more, so that the last ticket sealed with it is honoured as long as the first.
class TicketKeyRing {
 public:
  using Clock = Nanos (*)();

  // `clock` is what now() reads: tests bring their own.
  static std::shared_ptr<TicketKeyRing> create(Nanos lifetime, Clock clock = &monotonic_now);
  ~TicketKeyRing();
  TicketKeyRing(const TicketKeyRing&) = delete;
  TicketKeyRing& operator=(const TicketKeyRing&) = delete;

  TicketKey current(Nanos now);
  // The key of that name and whether a new ticket should be issued (it is no longer current).
  struct Found {
    TicketKey key;
    bool renew;
  };
  std::optional<Found> find(const uint8_t name[16], Nanos now);
  void set_lifetime(Nanos lifetime);
  Nanos now() const { return clock_(); }

 private:
  TicketKeyRing(Nanos lifetime, Clock clock) : lifetime_(lifetime), clock_(clock) {}
  void roll(Nanos now);

  std::mutex mutex_;
  Nanos lifetime_;
  const Clock clock_;
  std::vector<TicketKey> keys_;  // newest first
};

}  // namespace pqedge::crypto
