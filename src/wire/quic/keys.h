// Connection IDs, designed once: fixed length, carrying generation, worker, room for a server ID
// and a nonce under a key that survives reload and upgrade. The keys for stateless resets, Retry
// and tokens live beside it.
#pragma once

#include <netinet/in.h>

#include <array>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/result.h"
#include "net/address.h"

namespace pqedge::quic {

// Who owns a connection.
struct Owner {
  uint16_t generation = 0;  // of the process: changes with each hot upgrade
  uint16_t worker = 0;
  friend bool operator==(const Owner&, const Owner&) = default;
};

// One datagram as it came (one segment of a GRO batch).
struct ReceivedDatagram {
  Bytes bytes;
  net::Address peer;
  net::Address local;
  uint8_t ecn = 0;  // the two ECN bits of the IP header
};

// 16 bytes on the wire: one AES-128 block, so that it is opaque to anyone without the key and the
// nonce cannot be linked across IDs:
//   generation (2) | worker (2) | server ID (4) | nonce (8)
// Short and long headers carry the same length, so a short header is parsed without state.
inline constexpr size_t kConnectionIdSize = 16;
using ConnectionId = std::array<uint8_t, kConnectionIdSize>;

class Keys {
 public:
  static Result<Keys> generate();
  // From 32 secret bytes (a file shared by an upgrade or a fleet): all keys are derived by HKDF.
  static Result<Keys> from_secret(Bytes secret);

  ConnectionId make_id(const Owner& owner, uint32_t server_id) const;
  // The owner named by an ID of ours. A foreign ID (a client's first random one) decrypts to noise:
  // the 32 bits of server ID must match, so noise passes once in 2^32; the caller checks that the
  // generation and worker exist.
  std::optional<Owner> owner_of(Bytes id, uint32_t server_id) const;

  std::array<uint8_t, 16> reset_token(Bytes id) const;
  Bytes token_secret() const { return token_secret_; }  // Retry and NEW_TOKEN, 32 bytes

 private:
  std::array<uint8_t, 16> id_key_{};
  std::array<uint8_t, 32> reset_secret_{};
  std::array<uint8_t, 32> token_secret_{};
};

}  // namespace pqedge::quic
