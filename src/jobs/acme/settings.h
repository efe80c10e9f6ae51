// What a configuration says about certificates that a CA issues by ACME (RFC 8555).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "net/address.h"

namespace pqedge::acme {

enum class Challenge : uint8_t {
  http_01,      // RFC 8555 8.3: answered by every plain listener
  tls_alpn_01,  // RFC 8737: answered by every TLS listener over TCP
  dns_01,       // RFC 8555 8.4: by a command, or by dynamic update
};

// Of a certificate's key. The CA has to take it: public ones take no ML-DSA.
enum class KeyType : uint8_t {
  p256,
  p384,
  rsa2048,
  rsa3072,
  rsa4096,
  ml_dsa_44,
  ml_dsa_65,
  ml_dsa_87,
};
inline bool is_ml_dsa(KeyType type) { return type >= KeyType::ml_dsa_44; }

// How the TXT record of dns-01 comes into the zone: a command, or RFC 2136.
struct DnsSettings {
  std::vector<std::string> hook;  // program and arguments; no shell
  Nanos hook_timeout = 60 * kSecond;
  std::optional<net::Address> server;  // the zone's primary
  std::vector<std::string> zones;      // that it takes updates for
  std::string tsig_key;                // its name
  std::string tsig_secret_file;        // base64, as tsig-keygen and keymgr write it
  Nanos propagation = 0;               // waited before the CA is told to look
};

// Certificates for names that no one configured, when a client asks for them.
struct OnDemandSettings {
  std::string ask;  // URL; "?domain=NAME" is added, 200 allows. Empty: off
  uint32_t max_names = 1000;
  uint32_t asks_per_minute = 60;
  Nanos wait = 8 * kSecond;        // a handshake is held up so long
  Nanos deny_for = 600 * kSecond;  // a refusal is remembered

  friend bool operator==(const OnDemandSettings&, const OnDemandSettings&) = default;
};

struct CertificateSettings {
  std::vector<std::string> names;  // lower case; wildcards as "*.example.org"
  size_t index = 0;                // of the [[certificate]], for messages
  bool is_default = false;         // served when no name matches
};

struct Settings {
  bool present = false;  // the table is in the configuration
  std::string directory = "https://acme-v02.api.letsencrypt.org/directory";
  std::string email;
  std::string storage;  // a folder of ours alone
  bool accept_terms = false;
  Challenge challenge = Challenge::http_01;
  KeyType key_type = KeyType::p256;
  std::string
      ca_file;  // what the ACME server's own certificate is checked with; empty: the system's
  std::string eab_key_id;
  std::string eab_key_file;  // base64url HMAC key (RFC 8555 7.3.4)
  uint32_t renew_percent_left = 33;
  Nanos retry_min = 60 * kSecond;  // after a failure; doubled with each
  Nanos retry_max = 6 * 3600 * kSecond;
  Nanos timeout = 30 * kSecond;  // of one exchange with the CA
  DnsSettings dns;
  OnDemandSettings on_demand;
  std::vector<CertificateSettings> certificates;

  bool on() const { return present && (!certificates.empty() || !on_demand.ask.empty()); }
};

}  // namespace pqedge::acme
