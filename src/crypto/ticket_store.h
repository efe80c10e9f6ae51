// Ticket keys as they are stored and sent: sealed under ML-KEM-1024 for each machine that may have
// them. The format is in docs/internals/ticket-keys.md, byte by byte.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "crypto/kem.h"
#include "crypto/tickets.h"

namespace pqedge::crypto {

inline constexpr size_t kMaxStoredKeys = 16;
inline constexpr size_t kMaxRecipients = 32;
// Of the largest store that the format allows, rounded up.
inline constexpr size_t kMaxTicketStore = 112 * 1024;

struct TicketStore {
  std::vector<TicketKey> keys;  // newest first; `created` is wall-clock time
  std::vector<KemPublicKey> recipients;

  TicketStore() = default;
  TicketStore(TicketStore&&) = default;
  TicketStore& operator=(TicketStore&&) = default;
  ~TicketStore() {
    for (TicketKey& key : keys) forget(key);
  }
};

// Errors are to be read after the file's name. Whatever `sealed` holds, nothing is taken of a store
// that was changed, or that is for other machines.
Result<TicketStore> open_ticket_store(Bytes sealed, EVP_PKEY* private_key);
Result<std::vector<uint8_t>> seal_ticket_store(const TicketStore& store);

// Adds the next key, which seals from `starts` on, and forgets the oldest beyond `keep`. A key is
// made known before it begins, so that every machine understands its first ticket.
void add_next_key(TicketStore& store, Nanos starts, size_t keep);

// The first bytes of its name, for people: names are in every ticket, and no secret.
std::string short_name(const TicketKey& key);

}  // namespace pqedge::crypto
