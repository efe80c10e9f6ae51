// The protection of a client's Initial packets, whose keys anyone can derive (RFC 9001 5.2,
// RFC 9369 3.3).
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/bytes.h"

namespace pqedge::quic {

struct InitialKeys {
  std::array<uint8_t, 16> key{};
  std::array<uint8_t, 12> iv{};
  std::array<uint8_t, 16> header{};
};

// Of the packets that the client sends; `destination` is the ID that it chose for the server.
// `version` is 1 or 2. Empty: OpenSSL is out of memory.
std::optional<InitialKeys> client_initial_keys(uint32_t version, Bytes destination);

struct OpenedInitial {
  uint64_t number = 0;
  Bytes frames;  // valid until the thread opens another
};
// Removes the protection of one packet, from its first byte to its end. `largest`: the largest
// packet number that was opened before. Empty: it was not sealed with these keys.
std::optional<OpenedInitial> open_initial(Bytes packet, size_t number_offset,
                                          const InitialKeys& keys, uint64_t largest);

}  // namespace pqedge::quic
