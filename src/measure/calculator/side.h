// The figures of one side of the comparison, and what follows from them.
#pragma once

#include <optional>

#include "base/result.h"
#include "measure/calculator/figures.h"
#include "measure/calculator/inputs.h"

namespace pqedge::measure {

// Microseconds are means: what a machine pays in the long run adds up by means, not by medians.
struct SideFigures {
  Figure exchange;  // both sides of the key exchange
  Figure exchange_server;
  Figure sign;                 // CertificateVerify
  Figure verify;               // CertificateVerify, by the peer
  Figure verify_leaf;          // the leaf's signature, by the intermediate's key
  Figure verify_intermediate;  // the intermediate's signature, by the root's key
  Figures::Flight flight;
  std::optional<Figures::Flight> mutual;  // with client certificates, when they are asked for
  std::optional<Figures::Token> token;
  Figure token_verify;
  Figure encrypt_byte;  // when answers have a size
};

Result<SideFigures> gather(const Inputs& inputs, const CryptoChoice& choice,
                           const Figures& figures);

struct SideCosts {
  // Microseconds of the server's cryptography, for one connection of each kind and on average.
  double cpu_full = 0;
  double cpu_client_certificate = 0;  // more, when the client shows one
  double cpu_resumed = 0;
  double cpu_tokens = 0;
  double cpu_records = 0;
  double cpu_mean = 0;
  // Bytes of handshakes that the server sends and receives, and of tokens received.
  double out_full = 0;
  double out_resumed = 0;
  double out_mean = 0;
  double in_full = 0;
  double in_tokens = 0;
  double responses = 0;
  // Milliseconds until the client may send its request, and until it has the last byte.
  unsigned extra_round_trips = 0;  // of the full handshake
  double loss_full = 0;
  double handshake_full = 0;
  double handshake_resumed = 0;
  double handshake_early = 0;
  double handshake_mean = 0;
  double last_byte_full = 0;
  double last_byte_mean = 0;
};

SideCosts costs_of(const Inputs& inputs, const SideFigures& figures);

}  // namespace pqedge::measure
