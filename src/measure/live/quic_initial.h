// QUIC's Initial packets, decrypted from the datagrams on the wire (RFC 9001 5.2): their keys
// follow from the connection ID that the client chose, so that who sees the datagrams can read the
// hellos.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "measure/live/messages.h"

namespace pqedge::measure::live {

struct InitialKeys {
  std::array<uint8_t, 16> key{};
  std::array<uint8_t, 12> iv{};
  std::array<uint8_t, 16> hp{};
};
// For QUIC version 1. `server`: of the packets that the server sends.
InitialKeys initial_keys(Bytes destination_id, bool server);

// What an Initial packet holds, decrypted and authenticated.
struct InitialPacket {
  uint64_t number = 0;
  std::vector<uint8_t> payload;  // frames
  size_t padding = 0;            // bytes of PADDING frames
};

class QuicReader {
 public:
  // Each datagram of a connection, in the order seen; those of both directions.
  void sent(Bytes datagram) { take(datagram, false); }
  void received(Bytes datagram) { take(datagram, true); }

  // Handshake messages of the Initial packets, by direction.
  const std::vector<std::vector<uint8_t>>& client_messages() const { return client_.messages; }
  const std::vector<std::vector<uint8_t>>& server_messages() const { return server_.messages; }
  size_t initial_packets(bool server) const { return (server ? server_ : client_).initials; }
  size_t initial_padding(bool server) const { return (server ? server_ : client_).padding; }
  bool retry() const { return retry_; }
  bool version_negotiation() const { return version_negotiation_; }
  const std::vector<uint32_t>& versions() const { return versions_; }
  // From a CONNECTION_CLOSE in a server's Initial packet (RFC 9000 19.19).
  std::optional<uint64_t> close_error() const { return close_error_; }
  // Initial packets that could not be decrypted.
  size_t undecryptable() const { return undecryptable_; }

 private:
  struct Direction {
    std::optional<InitialKeys> keys;
    std::map<uint64_t, std::vector<uint8_t>> pieces;  // CRYPTO data ahead of its turn
    uint64_t offset = 0;                              // next byte of the CRYPTO stream
    MessageReader reader;
    std::vector<std::vector<uint8_t>> messages;
    uint64_t largest = 0;
    size_t initials = 0;
    size_t padding = 0;
  };

  void take(Bytes datagram, bool from_server);
  // Takes one long-header packet off the front; false when the rest cannot be read.
  bool take_packet(Bytes& rest, bool from_server);
  void take_frames(Bytes frames, Direction& direction, bool from_server);
  static void take_crypto(Direction& direction, uint64_t offset, Bytes data);
  void set_keys(Bytes destination_id);

  Direction client_;
  Direction server_;
  bool retry_ = false;
  bool version_negotiation_ = false;
  std::vector<uint32_t> versions_;
  std::optional<uint64_t> close_error_;
  size_t undecryptable_ = 0;
};

// Removes the protection of one Initial packet: `packet` from its first byte to the end given by
// its Length field, `number_offset` where the packet number begins.
std::optional<InitialPacket> open_initial(Bytes packet, size_t number_offset,
                                          const InitialKeys& keys, uint64_t largest_seen);

}  // namespace pqedge::measure::live
