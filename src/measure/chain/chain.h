// Certificate chains as TLS 1.3 sends them (M12), and the first flight of a handshake with each
// (M13). Everything is minted in memory and thrown away; no key or certificate leaves the process.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "measure/record/record.h"

namespace pqedge::measure {

// The names and extensions of what is minted.
enum class ChainProfile : uint8_t {
  // As short as a valid chain may be; the same lengths as the reference figures elsewhere.
  minimal,
  // With the names, policies and addresses that a public authority writes.
  web,
};

// How SCTs reach the client (RFC 6962 3.3).
enum class SctDelivery : uint8_t { none, embedded, tls_extension };

// Key algorithms are "ECDSA-P256", "RSA-2048", "RSA-3072", "ML-DSA-44", "ML-DSA-65", "ML-DSA-87",
// "SLH-DSA-SHA2-128s" and "SLH-DSA-SHAKE-128s".
struct ChainSpec {
  std::string root;
  std::string intermediate;
  std::string leaf;
  ChainProfile profile = ChainProfile::minimal;
  SctDelivery sct_delivery = SctDelivery::none;
  unsigned scts = 0;
  std::string sct_algorithm;  // of the logs' signatures; empty: the intermediate's
  bool staple = false;        // an OCSP response, signed by the intermediate
  std::string compression;    // empty, "zlib" or "zstd": what the handshake asks for (RFC 8879)
  bool client_certificate = false;  // the client shows a chain of the same kind
};

std::string chain_name(const ChainSpec& spec);

// Each algorithm alone, mixed chains, and the variants with SCTs, staples, compression, client
// certificates and the longer names.
std::vector<ChainSpec> default_chain_specs();

struct ChainRunOptions {
  std::vector<ChainSpec> chains = default_chain_specs();
  std::vector<std::string> groups = {"X25519", "X25519MLKEM768"};
  // TCP: the initial window is `window_segments` times each of these (RFC 6928). 1,460: IPv4 in
  // 1,500 bytes; 1,448: with timestamps; 1,428: IPv6 with timestamps.
  size_t window_segments = 10;
  std::vector<size_t> segments = {1460, 1448, 1428};
  size_t datagram = 1200;  // bytes of a QUIC datagram, at least 1,200 (RFC 9000 14.1)
  // Called before each chain: how many are done, of how many, and the next one's name.
  std::function<void(size_t done, size_t of, std::string_view next)> progress;
  const std::atomic<bool>* cancel = nullptr;
};

// Appends to record.chains and record.flights; what could not be done is in record.absent.
// Cancelled: what was done stays and record.complete is false.
Result<void> run_chains(const ChainRunOptions& options, Record& record);

}  // namespace pqedge::measure
