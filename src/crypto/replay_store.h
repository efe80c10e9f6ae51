// Which tickets have brought early data already (RFC 8446 8.1): one store for all workers.
//
// A hello's early data is only looked at within ten seconds of the moment that its ticket age names
// (OpenSSL checks it, RFC 8446 8.3), so a ticket is remembered for longer than a copy of its hello
// can be of use, and no longer. In that time it is taken once.
//
// The store lives in the memory of one process. Tickets name the store of the process that issued
// them (id()), and early data is refused where it is another's: after a restart, or on a machine
// that shares the ticket keys, what was used already is not known.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/time.h"

namespace pqedge::crypto {

// Thread safe; a short lock a shard.
class ReplayStore {
 public:
  using Id = std::array<uint8_t, 16>;
  using Clock = Nanos (*)();

  // Twice the ten seconds to both sides, and room for clocks that are stepped.
  static constexpr Nanos kWindow = 60 * kSecond;

  // Room for about `entries` tickets within a window; 64 bytes of memory each, all taken at once.
  explicit ReplayStore(size_t entries, Clock clock = &monotonic_now);
  ReplayStore(const ReplayStore&) = delete;
  ReplayStore& operator=(const ReplayStore&) = delete;

  enum class Verdict : uint8_t { fresh, used, full };
  // Remembers `ticket`, whose bytes are random, unless it is known. `full`: it is not remembered,
  // and must be treated as used.
  Verdict use(const Id& ticket);
  // Random, one a store.
  const Id& id() const { return id_; }

 private:
  static constexpr size_t kShards = 64;

  // Open addressing; never more than three quarters full.
  struct Generation {
    std::vector<Id> slots;  // all zero: free
    size_t used = 0;
    bool contains(const Id& id) const;
    bool add(const Id& id);  // false: full
    void clear();
  };
  // Each ticket is in the generation of its time, and is forgotten with it: after one window at
  // least, and two at most.
  struct alignas(64) Shard {
    std::mutex mutex;
    Generation present;
    Generation past;
    Nanos began = 0;
  };

  const Clock clock_;
  Id id_;
  std::unique_ptr<Shard[]> shards_;
};

}  // namespace pqedge::crypto
