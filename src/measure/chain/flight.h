// A handshake's flights, captured (M13).
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "measure/chain/sides.h"

namespace pqedge::measure {

struct CapturedFlight {
  size_t client_hello = 0;      // the message, header included
  size_t client_bytes = 0;      // of TLS records, or of datagrams, in the client's first flight
  size_t client_datagrams = 0;  // QUIC
  size_t server_flight = 0;  // bytes of TLS records, or of datagrams, up to the server's Finished
  // By message, and what carries them: "TLS records", "QUIC packets". They add to server_flight.
  std::map<std::string, size_t> parts;
  size_t client_flight = 0;    // what the client sends then
  std::vector<size_t> rounds;  // QUIC: bytes from the server between two arrivals from the client
  unsigned client_rounds = 0;  // QUIC: in how many turns the client's part came after that
};

// Over TCP: TLS records through BIOs of our own. Fails when the handshake does, or when another
// group was agreed on than was asked for.
Result<CapturedFlight> capture_tcp(const ChainSpec& spec, const MintedChain& chain,
                                   const std::string& group);

// Over QUIC: two ngtcp2 connections that hand each other their datagrams, `datagram` bytes at most,
// on a path that loses nothing. No pacing: what the windows allow goes out at once.
Result<CapturedFlight> capture_quic(const ChainSpec& spec, const MintedChain& chain,
                                    const std::string& group, size_t datagram);

// Notes the handshake messages that `ssl` sends, by name.
class MessageLog {
 public:
  void attach(SSL* ssl);
  const std::map<std::string, size_t>& sent() const { return sent_; }
  size_t total() const;

 private:
  static void on_message(int sent, int version, int type, const void* bytes, size_t size, SSL*,
                         void* self);
  std::map<std::string, size_t> sent_;
};

}  // namespace pqedge::measure
