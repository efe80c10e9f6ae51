#include "crypto/tickets.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>

#include <cstdlib>
#include <cstring>

#include "base/log.h"

namespace pqedge::crypto {
namespace {

// Half of a lifetime each, alive for one and a half: four at most, but for changes of the lifetime.
constexpr size_t kMaxKeys = 8;

void forget(TicketKey& key) { OPENSSL_cleanse(&key, sizeof key); }

TicketKey make_key(Nanos now) {
  TicketKey key;
  if (RAND_bytes(key.name.data(), key.name.size()) != 1 ||
      RAND_priv_bytes(key.key.data(), key.key.size()) != 1 ||
      RAND_priv_bytes(key.mac.data(), key.mac.size()) != 1) {
    log::error("tls", "the random generator failed: no ticket key can be made");
    std::abort();  // nothing that this process could still do would be safe
  }
  key.created = now;
  return key;
}

}  // namespace

std::shared_ptr<TicketKeyRing> TicketKeyRing::create(Nanos lifetime, Clock clock) {
  return std::shared_ptr<TicketKeyRing>(new TicketKeyRing(lifetime, clock));
}

TicketKeyRing::~TicketKeyRing() {
  for (TicketKey& key : keys_) forget(key);
}

// Makes a new key when the newest is old, and forgets those whose last ticket has expired.
void TicketKeyRing::roll(Nanos now) {
  if (keys_.capacity() == 0) keys_.reserve(kMaxKeys + 1);  // never moved: no copies left in memory
  while (!keys_.empty() &&
         (now - keys_.back().created >= lifetime_ + lifetime_ / 2 || keys_.size() > kMaxKeys)) {
    forget(keys_.back());
    keys_.pop_back();
  }
  if (keys_.empty() || now - keys_.front().created >= lifetime_ / 2) {
    keys_.insert(keys_.begin(), make_key(now));
  }
}

TicketKey TicketKeyRing::current(Nanos now) {
  const std::lock_guard lock(mutex_);
  roll(now);
  return keys_.front();
}

std::optional<TicketKeyRing::Found> TicketKeyRing::find(const uint8_t name[16], Nanos now) {
  const std::lock_guard lock(mutex_);
  roll(now);
  for (size_t i = 0; i < keys_.size(); ++i) {
    if (std::memcmp(keys_[i].name.data(), name, keys_[i].name.size()) == 0) {
      return Found{keys_[i], i > 0};
    }
  }
  return std::nullopt;
}

void TicketKeyRing::set_lifetime(Nanos lifetime) {
  const std::lock_guard lock(mutex_);
  lifetime_ = lifetime;
}

}  // namespace pqedge::crypto
