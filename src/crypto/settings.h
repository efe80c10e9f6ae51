// What a configuration says about TLS toward clients.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"
#include "crypto/stapling_settings.h"

namespace pqedge::crypto {

struct CertificateSettings {
  std::string chain_file;   // PEM: leaf first, then intermediates
  std::string key_file;     // PEM private key, any PKCS#8 form OpenSSL reads
  bool is_default = false;  // served when no name matches (else the first certificate is)
  std::string sct_file;     // SignedCertificateTimestampList (RFC 6962 3.3); empty: none
};

// What happens to a client whose handshake would end on a group without ML-KEM.
enum class ClassicalAction : uint8_t {
  allow,
  log,        // allowed, with a line in the log
  refuse,     // the handshake fails: insufficient_security (RFC 8446 6.2)
  forbid,     // requests get 403 and a page that says why
  misdirect,  // requests get 421 (RFC 9110 15.5.20)
};

// One policy; from it every worker builds a TCP and a QUIC context.
struct TlsSettings {
  uint32_t id = 0;                  // ConnectionFacts::policy
  std::string min_version = "1.3";  // "1.2" only when configured
  // A preset ("compatible", "hybrid-required", "cnsa2") or a list of groups, best first.
  std::vector<std::string> groups = {"compatible"};
  // A client that lists groups with ML-KEM, but none of ours, and one that lists none at all.
  ClassicalAction downgraded_clients = ClassicalAction::allow;
  ClassicalAction classical_clients = ClassicalAction::allow;
  std::vector<std::string> ciphers;               // TLS 1.3 suites; empty: the library's defaults
  std::vector<std::string> signature_algorithms;  // empty: the library's defaults
  std::vector<CertificateSettings> certificates;
  bool strict_key_files = false;  // refuse a private key's file that others can read
  bool session_tickets = true;
  Nanos ticket_lifetime = 7200 * kSecond;  // a ticket is honoured so long; keys roll at half of it
  Nanos handshake_timeout = 10 * kSecond;
  OcspSettings ocsp;
  TransparencySettings transparency;
  // RFC 8879, best first: "brotli", "zstd", "zlib". Empty: certificates are sent as they are.
  std::vector<std::string> certificate_compression;
};

}  // namespace pqedge::crypto
