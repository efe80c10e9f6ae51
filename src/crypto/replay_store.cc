#include "crypto/replay_store.h"

#include <openssl/rand.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/log.h"

namespace pqedge::crypto {
namespace {

constexpr ReplayStore::Id kFree{};

uint64_t word(const ReplayStore::Id& id, size_t at) {
  uint64_t w;
  std::memcpy(&w, id.data() + at, sizeof w);
  return w;
}

}  // namespace

// Two generations, a quarter of each kept free, and 16 bytes a slot: 43 bytes an entry before the
// size is rounded up to a power of two.
ReplayStore::ReplayStore(size_t entries, Clock clock)
    : clock_(clock), shards_(std::make_unique<Shard[]>(kShards)) {
  if (RAND_bytes(id_.data(), id_.size()) != 1) {
    log::error("tls", "the random generator failed: used tickets cannot be told apart");
    std::abort();
  }
  const size_t slots = std::bit_ceil(std::max<size_t>(entries / kShards * 4 / 3, 16));
  for (size_t i = 0; i < kShards; ++i) {
    shards_[i].present.slots.resize(slots);
    shards_[i].past.slots.resize(slots);
    shards_[i].began = clock_();
  }
}

bool ReplayStore::Generation::contains(const Id& id) const {
  const size_t mask = slots.size() - 1;
  for (size_t i = word(id, 8) & mask; slots[i] != kFree; i = (i + 1) & mask) {
    if (slots[i] == id) return true;
  }
  return false;
}

bool ReplayStore::Generation::add(const Id& id) {
  if ((used + 1) * 4 > slots.size() * 3) return false;
  const size_t mask = slots.size() - 1;
  size_t i = word(id, 8) & mask;
  while (slots[i] != kFree) i = (i + 1) & mask;
  slots[i] = id;
  ++used;
  return true;
}

void ReplayStore::Generation::clear() {
  if (used == 0) return;
  std::ranges::fill(slots, kFree);
  used = 0;
}

ReplayStore::Verdict ReplayStore::use(const Id& ticket) {
  if (ticket == kFree) return Verdict::full;
  Shard& shard = shards_[word(ticket, 0) % kShards];
  const std::lock_guard lock(shard.mutex);
  const Nanos now = clock_();  // within the lock: it never lies before shard.began
  if (now - shard.began >= kWindow) {
    // After two windows without a ticket both generations are over.
    if (now - shard.began >= 2 * kWindow) shard.present.clear();
    std::swap(shard.present, shard.past);
    shard.present.clear();
    shard.began = now;
  }
  if (shard.present.contains(ticket) || shard.past.contains(ticket)) return Verdict::used;
  return shard.present.add(ticket) ? Verdict::fresh : Verdict::full;
}

}  // namespace pqedge::crypto
