// What the two sides of one key exchange send each other: real keys and a real ciphertext, made in
// the run, of which the encodings of TLS, SSH and IKEv2 are made (M8).
#pragma once

#include <cstdint>
#include <vector>

#include "measure/record/record.h"

namespace pqedge::measure {

// As the primitives give them (provider/primitive.h): NIST points uncompressed, with their 0x04.
// Empty: the exchange has no such part.
struct ExchangeKeys {
  std::vector<uint8_t> kem_public;      // of the client or initiator
  std::vector<uint8_t> kem_ciphertext;  // of the server or responder
  std::vector<uint8_t> classical_client;
  std::vector<uint8_t> classical_server;
};

// The bytes that are the exchange's own, and other ways of counting them.
struct WireFigures {
  WireBytes bytes;
  std::vector<WireDetail> details;
};

}  // namespace pqedge::measure
