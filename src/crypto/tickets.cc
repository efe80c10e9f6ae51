#include "crypto/tickets.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/log.h"

namespace pqedge::crypto {
namespace {

// Half of a lifetime each, alive for one and a half: four at most, but for changes of the lifetime.
constexpr size_t kMaxKeys = 8;
// What the clocks of machines that share a store may differ.
constexpr Nanos kClockSkew = 60 * kSecond;

}  // namespace

void forget(TicketKey& key) { OPENSSL_cleanse(&key, sizeof key); }

TicketKey make_ticket_key(Nanos created) {
  TicketKey key;
  if (RAND_bytes(key.name.data(), key.name.size()) != 1 ||
      RAND_priv_bytes(key.key.data(), key.key.size()) != 1 ||
      RAND_priv_bytes(key.mac.data(), key.mac.size()) != 1 ||
      RAND_priv_bytes(key.seed.data(), key.seed.size()) != 1) {
    log::error("tls", "the random generator failed: no ticket key can be made");
    std::abort();  // nothing that this process could still do would be safe
  }
  key.name[0] &= 0x7f;
  key.created = created;
  return key;
}

std::shared_ptr<TicketKeyRing> TicketKeyRing::create(Nanos lifetime, Clock clock) {
  return std::shared_ptr<TicketKeyRing>(new TicketKeyRing(lifetime, clock));
}

TicketKeyRing::~TicketKeyRing() { clear(); }

void TicketKeyRing::clear() {
  for (Entry& e : keys_) forget(e.key);
  keys_.clear();
}

// Makes a new key when the newest is old, and forgets those whose last ticket has expired. Keys of
// a store come and go with it.
void TicketKeyRing::roll(Nanos now) {
  if (shared_) return;
  if (keys_.capacity() <= kMaxKeys) {
    keys_.reserve(2 * kMaxKeys);  // never moved after: no copies left in memory
  }
  while (!keys_.empty() &&
         (now - keys_.back().key.created >= lifetime_ + lifetime_ / 2 || keys_.size() > kMaxKeys)) {
    forget(keys_.back().key);
    keys_.pop_back();
  }
  if (keys_.empty() || now - keys_.front().key.created >= lifetime_ / 2) {
    keys_.insert(keys_.begin(), Entry{make_ticket_key(now), nullptr});
  }
}

void TicketKeyRing::install(std::vector<TicketKey> keys, Clock wall_clock) {
  std::ranges::sort(keys, std::ranges::greater(), &TicketKey::created);
  const std::lock_guard lock(mutex_);
  clear();
  keys_.reserve(keys.size());
  for (TicketKey& key : keys) {
    keys_.push_back(Entry{key, nullptr});
    forget(key);
  }
  shared_ = true;
  clock_ = wall_clock;
}

void TicketKeyRing::use_own() {
  const std::lock_guard lock(mutex_);
  if (!shared_) return;
  clear();
  shared_ = false;
  clock_ = own_clock_;
}

std::vector<TicketKey> TicketKeyRing::own_keys() {
  const std::lock_guard lock(mutex_);
  std::vector<TicketKey> copies;
  if (shared_) return copies;
  copies.reserve(keys_.size());
  for (const Entry& e : keys_) copies.push_back(e.key);
  return copies;
}

void TicketKeyRing::go_on_with(const std::vector<TicketKey>& keys) {
  const std::lock_guard lock(mutex_);
  if (shared_ || !keys_.empty()) return;
  keys_.reserve(2 * kMaxKeys);
  for (const TicketKey& key : keys) {
    if (keys_.size() < kMaxKeys) keys_.push_back(Entry{key, nullptr});
  }
}

Nanos TicketKeyRing::now() {
  const std::lock_guard lock(mutex_);
  return clock_();
}

// The newest that has begun. Where none has, clocks differ, and the oldest is the one in use.
size_t TicketKeyRing::current_index(Nanos now) const {
  for (size_t i = 0; i < keys_.size(); ++i) {
    if (keys_[i].key.created <= now) return i;
  }
  return keys_.size() - 1;
}

// Whether the last ticket sealed with it has expired: its successor began so long ago.
bool TicketKeyRing::over(size_t index, Nanos now) const {
  if (!shared_ || index == 0) return false;  // roll() sees to own ones
  const Nanos ended = keys_[index - 1].key.created;
  return now > ended && now - ended > lifetime_ + kClockSkew;
}

TicketKey TicketKeyRing::current(Nanos now) {
  const std::lock_guard lock(mutex_);
  roll(now);
  return keys_[current_index(now)].key;
}

std::optional<TicketKeyRing::Found> TicketKeyRing::find(const uint8_t name[16], Nanos now) {
  const std::lock_guard lock(mutex_);
  roll(now);
  for (size_t i = 0; i < keys_.size(); ++i) {
    if (std::memcmp(keys_[i].key.name.data(), name, keys_[i].key.name.size()) != 0) continue;
    if (over(i, now)) break;
    return Found{keys_[i].key, i > current_index(now)};
  }
  return std::nullopt;
}

KemKey TicketKeyRing::kem(const uint8_t name[16]) {
  const std::lock_guard lock(mutex_);
  for (Entry& e : keys_) {
    if (std::memcmp(e.key.name.data(), name, e.key.name.size()) != 0) continue;
    if (e.kem == nullptr) e.kem = kem_from_seed(e.key.seed);
    return e.kem;
  }
  return nullptr;
}

void TicketKeyRing::set_lifetime(Nanos lifetime) {
  const std::lock_guard lock(mutex_);
  lifetime_ = lifetime;
}

ReplayStore& TicketKeyRing::replays(size_t entries) {
  const std::lock_guard lock(mutex_);
  if (replays_ == nullptr) replays_ = std::make_unique<ReplayStore>(entries);
  return *replays_;
}

}  // namespace pqedge::crypto
