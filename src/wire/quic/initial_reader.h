// The ClientHello of a QUIC connection, read from the client's Initial packets by whoever sees
// them: over several packets, in any order, doubled or overlapping.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "wire/quic/crypto_pieces.h"
#include "wire/quic/initial_keys.h"

namespace pqedge::quic {

class InitialReader {
 public:
  // Of the message, its header included: what ngtcp2 takes too.
  static constexpr size_t kMaxHello = 16 * 1024;

  // `version` is 1 or 2; `destination`: the ID in the packets to be read, at most 20 bytes.
  InitialReader(uint32_t version, Bytes destination);

  enum class State : uint8_t {
    more,    // the hello is not whole yet
    whole,   // message() has it
    broken,  // it never will be: fault() says why
  };
  // Reads every Initial packet of the datagram that has this version and this destination; other
  // packets are passed over. A packet that was not sealed with the keys changes nothing.
  State take(Bytes datagram);
  State state() const { return state_; }
  std::string_view fault() const { return fault_; }

  Bytes message() const { return pieces_.front().first(message_size_); }
  // Packets that were opened.
  size_t packets() const { return packets_; }
  size_t held() const { return pieces_.held(); }

 private:
  void take_packet(Bytes packet, size_t number_offset);
  void take_frames(Bytes frames);
  bool take_crypto(Bytes& frames);
  void look_at_message();
  void break_off(std::string_view fault);

  uint32_t version_;
  uint8_t destination_[20];
  size_t destination_size_;
  std::optional<InitialKeys> keys_;
  CryptoPieces pieces_{kMaxHello};
  size_t message_size_ = 0;
  size_t packets_ = 0;
  uint64_t largest_ = 0;
  State state_ = State::more;
  std::string_view fault_;
};

}  // namespace pqedge::quic
