// ClientHellos of our own making: what a library cannot be made to say.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"

namespace pqedge::probe {

inline constexpr uint16_t kTls13 = 0x0304;
inline constexpr uint16_t kTls12 = 0x0303;
inline constexpr uint16_t kTls11 = 0x0302;
inline constexpr uint16_t kTls10 = 0x0301;
inline constexpr uint16_t kSsl3 = 0x0300;

// A ClientHello. With TLS 1.3 among the versions its list of key shares is empty: a server that
// knows one of the groups asks for it by a HelloRetryRequest (RFC 8446 4.1.4, 4.2.8), which names
// version, suite and group, and costs neither side a key.
struct HelloShape {
  uint16_t legacy_version = kTls12;
  std::vector<uint16_t> versions;  // supported_versions; empty: the extension is left out
  std::vector<uint16_t> ciphers;
  std::vector<uint16_t> groups;
  std::string server_name;  // empty: none
  std::vector<std::string> alpn;
  bool grease = false;  // RFC 8701: values that stand for nothing, in every list
  size_t pad_to = 0;    // bytes of the whole message, by the padding extension (RFC 7685)
};

// A handshake message, with its 4-byte header. The random and the session ID are fresh.
std::vector<uint8_t> make_client_hello(const HelloShape& shape);

// The message in TLS records of at most `fragment` bytes each.
std::vector<uint8_t> in_records(Bytes message, size_t fragment = 1 << 14);

// All groups that the probe asks for (code points), post-quantum ones first, and the name of each:
// those of crypto/groups.h, drafts that some servers still speak, and finite-field groups.
const std::vector<uint16_t>& all_groups();
std::string group_label(uint16_t code);
// Contains ML-KEM as published (FIPS 203): Kyber's drafts do not count.
bool is_ml_kem(uint16_t code);

const std::vector<uint16_t>& tls13_suites();
// Suites of TLS 1.2 with forward secrecy and AEAD, then the others that clients once offered.
const std::vector<uint16_t>& old_suites();
// Of them, those by RSA key transport: whoever gets the key later reads what was recorded.
const std::vector<uint16_t>& static_rsa_suites();
std::string suite_label(uint16_t code);

}  // namespace pqedge::probe
