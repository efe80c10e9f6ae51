// What a probe has found. Lists are in the order in which the server chose.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "crypto/ech_config.h"
#include "probe/flight.h"
#include "probe/options.h"

namespace pqedge::probe {

// A question with yes or no, and why where that says more; empty: it was not asked.
struct Finding {
  std::optional<bool> yes;
  std::string detail;
};

struct VersionReport {
  uint16_t version = 0;
  bool accepted = false;
  uint16_t cipher = 0;  // that the server chose
  std::string detail;
};

struct CertificateReport {
  std::string subject;
  std::string issuer;
  std::string key;        // "EC P-256", "RSA 2048", "ML-DSA-65"
  std::string signature;  // "ecdsa-with-SHA256"
  int bits = 0;           // of security, as the library rates the key
  bool weak = false;      // a key below 112 bits of security, or signed with SHA-1 or MD5
  size_t der = 0;
  size_t public_key = 0;  // bytes of its SubjectPublicKeyInfo
  int64_t not_after = 0;  // Unix seconds
};

// One chain that the server has, and the schemes that it signs with under it.
struct ChainReport {
  std::vector<uint16_t> signatures;
  std::vector<CertificateReport> certificates;  // the leaf first, as they came
  size_t der = 0;                               // of all certificates
  size_t message = 0;                           // of the Certificate message
  size_t signature = 0;                         // bytes of the signature in the CertificateVerify
  size_t staple = 0;                            // of the OCSP response; 0: none
  size_t scts_in_extension = 0;
  size_t scts_in_certificate = 0;
  bool trusted = false;
  std::string trust;          // why not
  std::vector<uint8_t> leaf;  // DER: tells chains apart; in no report
};

struct CompressionReport {
  uint16_t algorithm = 0;
  size_t compressed = 0;    // bytes of the message that came
  size_t uncompressed = 0;  // that it stands for
};

struct ResumptionReport {
  size_t tickets = 0;       // of the first connection
  uint32_t lifetime = 0;    // seconds, of the first ticket
  uint32_t early_data = 0;  // most bytes of 0-RTT that it allows; 0: not offered
  Finding resumed;
  uint16_t group = 0;  // of the resumption's own key exchange
};

struct EchReport {
  Finding answered;  // retry configs came for a GREASE extension (RFC 9849 6.2.1, 7.1)
  std::vector<crypto::EchConfig> configs;
};

struct QuicReport {
  Finding accepted;  // a handshake with ALPN h3
  uint16_t group = 0;
  uint16_t cipher = 0;
  uint16_t signature = 0;
  bool retry_packet = false;  // the address was proven first
};

struct Report {
  std::string host;
  uint16_t port = 0;
  std::string address;
  std::string server_name;
  bool ignore_trust = false;
  unsigned connections = 0;

  std::vector<VersionReport> versions;  // newest first
  std::vector<uint16_t> suites;         // of TLS 1.3
  Finding static_rsa;

  std::vector<uint16_t> groups;
  Finding own_order;  // it keeps to its own order of groups, whatever the client's
  std::string groups_detail;
  Finding hybrid_client;     // one with a hybrid's key share, in a large hello, connects
  std::string usual_groups;  // of other handshakes, where hybrid_client is not; else empty
  // What a client gets that sends shares of X25519MLKEM768 and X25519, and whether by a retry.
  uint16_t default_group = 0;
  bool default_retry = false;
  // The client lists a group with ML-KEM, but sends a share of a classical one only.
  Finding asks_for_post_quantum;
  bool retry_fails = false;  // that handshake came to no end

  std::vector<ChainReport> chains;
  std::vector<CompressionReport> compression;
  ResumptionReport resumption;
  std::vector<std::string> alpn;  // accepted, the preferred one first
  std::string alt_svc;
  uint16_t alt_svc_h3_port = 0;
  QuicReport quic;
  EchReport ech;

  Finding large_hello;   // above one segment, whole
  Finding two_segments;  // the same in two TCP segments
  Finding two_records;   // and in two TLS records
  Finding unknown_group;
  Finding grease;

  bool accepts(uint16_t version) const {
    for (const VersionReport& v : versions) {
      if (v.version == version) return v.accepted;
    }
    return false;
  }
  bool has_ml_kem() const;
};

std::string version_label(uint16_t version);  // "TLSv1.3"

}  // namespace pqedge::probe
