// One ring of session-ticket keys for all workers, both contexts, and every reload (T6); and what
// 0-RTT remembers of tickets (T7).
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "crypto/kem.h"
#include "crypto/replay_store.h"

namespace pqedge::crypto {

struct TicketKey {
  std::array<uint8_t, 16> name;  // the first bit is 0: on_ticket.cc says with it how it was sealed
  std::array<uint8_t, 32> key;   // AES-256-GCM
  std::array<uint8_t, 32> mac;   // HMAC-SHA-256 around it, which the library's callback wants
  KemSeed seed;                  // of the ML-KEM-1024 pair of tickets with an encapsulation
  Nanos created = 0;             // seals from then on: monotonic, or wall clock for keys of a store
};

// From the random generator of the library; ends the process where that fails.
TicketKey make_ticket_key(Nanos created);
void forget(TicketKey& key);

// Thread safe.
//
// Own keys roll at half of `lifetime` when they are asked for. A key decrypts for half of
// `lifetime` more, so that the last ticket sealed with it is honoured as long as the first.
//
// Keys of a store (edge/ticket_key_keeper.h) are as whoever rotates it wants them: the newest that
// has begun seals, those still to come open already, and those before open for `lifetime` more.
class TicketKeyRing {
 public:
  using Clock = Nanos (*)();

  // `clock` is what now() reads: tests bring their own.
  static std::shared_ptr<TicketKeyRing> create(Nanos lifetime, Clock clock = &monotonic_now);
  ~TicketKeyRing();
  TicketKeyRing(const TicketKeyRing&) = delete;
  TicketKeyRing& operator=(const TicketKeyRing&) = delete;

  // From a store, in any order, at least one; instead of all keys so far.
  void install(std::vector<TicketKey> keys, Clock wall_clock = &wall_now);
  // Back to keys of its own; nothing happens where it has no others.
  void use_own();
  // For a process that goes on where this one stops: copies of the keys of its own, none where they
  // are a store's. The caller forgets them.
  std::vector<TicketKey> own_keys();
  // In a ring that has none yet: goes on with those of the process before, the newest first. Their
  // times are read by the same clock, which is the machine's.
  void go_on_with(const std::vector<TicketKey>& keys);

  TicketKey current(Nanos now);
  // The key of that name and whether a new ticket should be issued (it is no longer current).
  struct Found {
    TicketKey key;
    bool renew;
  };
  std::optional<Found> find(const uint8_t name[16], Nanos now);
  // The pair that belongs to a key of the ring; null: it is gone, or the library refused.
  KemKey kem(const uint8_t name[16]);
  void set_lifetime(Nanos lifetime);
  // By the clock that counts for the keys in use.
  Nanos now();

  // Used tickets; made when it is first asked for, and kept. `entries` of a later call has an
  // effect on nothing.
  ReplayStore& replays(size_t entries);

 private:
  struct Entry {
    TicketKey key;
    KemKey kem;  // made when it is first asked for
  };
  TicketKeyRing(Nanos lifetime, Clock clock)
      : lifetime_(lifetime), own_clock_(clock), clock_(clock) {}
  void roll(Nanos now);
  void clear();
  size_t current_index(Nanos now) const;
  bool over(size_t index, Nanos now) const;

  std::mutex mutex_;
  Nanos lifetime_;
  const Clock own_clock_;
  Clock clock_;
  bool shared_ = false;      // the keys are a store's
  std::vector<Entry> keys_;  // newest first
  std::unique_ptr<ReplayStore> replays_;
};

}  // namespace pqedge::crypto
