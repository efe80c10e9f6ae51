// What a configuration says about TLS toward clients.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"

namespace pqedge::crypto {

struct CertificateSettings {
  std::string chain_file;   // PEM: leaf first, then intermediates
  std::string key_file;     // PEM private key, any PKCS#8 form OpenSSL reads
  bool is_default = false;  // served when no name matches (else the first certificate is)
};

// One policy; from it every worker builds a TCP and a QUIC context.
struct TlsSettings {
  uint32_t id = 0;                  // ConnectionFacts::policy
  std::string min_version = "1.3";  // "1.2" only when configured
  // A preset ("compatible", "hybrid-required", "cnsa2") or a list of groups, best first.
  std::vector<std::string> groups = {"compatible"};
  std::vector<std::string> ciphers;               // TLS 1.3 suites; empty: the library's defaults
  std::vector<std::string> signature_algorithms;  // empty: the library's defaults
  std::vector<CertificateSettings> certificates;
  bool session_tickets = true;
  Nanos ticket_lifetime = 7200 * kSecond;  // a ticket is honoured so long; keys roll at half of it
  Nanos handshake_timeout = 10 * kSecond;
};

}  // namespace pqedge::crypto
