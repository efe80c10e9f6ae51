// What the calculator is told about somebody's own traffic (M21).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace pqedge::measure {

// One side of the comparison. Names are the record's: a group of the tls track, a chain of
// `chains`, a token of `tokens`; "none": no token.
struct CryptoChoice {
  std::string group;
  std::string chain;
  std::string token;
};

struct Inputs {
  double connections_per_second = 0;
  double resumption = 0;           // share of connections that resume a session
  double early_data = 0;           // share of those that send their request as 0-RTT
  double client_certificates = 0;  // share of full handshakes with one
  double requests_per_connection = 1;
  double token_share = 1;     // of requests that carry a token
  double response_bytes = 0;  // of one answer
  double rtt_ms = 0;
  double loss = 0;                 // share of packets
  double initial_window = 10;      // segments (RFC 6928)
  double segment = 1460;           // bytes of payload
  double egress_price_per_gb = 0;  // a GB is 10^9 bytes; 0: not asked for
  double core_price_per_hour = 0;
  std::string http = "2";  // "1.1", "2", "3"
  CryptoChoice before{"X25519", "ECDSA P-256", "none"};
  CryptoChoice after{"X25519MLKEM768", "ECDSA P-256", "none"};
};

// The keys, as TOML writes them; an option is the same with dashes.
struct NumberKey {
  std::string_view name;
  double Inputs::* member;
  double least;
  double most;
  std::string_view about;
};
std::span<const NumberKey> number_keys();

// Reads a TOML file over `inputs`: the keys above, `http`, and the tables [before] and [after] with
// group, chain, token. What it does not name is left alone; an unknown key is an error.
Result<void> read_inputs(std::string_view toml, std::string_view source, Inputs& inputs);

Result<void> check_inputs(const Inputs& inputs);

}  // namespace pqedge::measure
