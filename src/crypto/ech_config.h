// ECHConfigList (RFC 9849 4) and the files that hold one with its private key (RFC 9934).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace pqedge::crypto {

inline constexpr uint16_t kEchVersion = 0xfe0d;    // RFC 9849 4
inline constexpr uint16_t kEchKemX25519 = 0x0020;  // DHKEM(X25519, HKDF-SHA256), RFC 9180 7.1
inline constexpr size_t kMaxEchConfigList = 1500;  // what OpenSSL takes of one
inline constexpr std::string_view kEchPemName = "ECHCONFIG";

struct EchConfig {
  uint8_t id = 0;
  uint16_t kem = 0;
  std::string public_key;
  std::vector<std::pair<uint16_t, uint16_t>> suites;  // HPKE: KDF, AEAD
  uint8_t max_name_length = 0;
  std::string public_name;
  std::string encoded;  // this configuration whole, as it stands in a list
};

// Those of the version that is known; others are passed over, as RFC 9849 4 says. Error: malformed,
// or none of that version.
Result<std::vector<EchConfig>> parse_ech_config_list(Bytes list);

// One list of several configurations.
std::string ech_config_list(const std::vector<EchConfig>& configs);

struct EchKeyFile {
  std::vector<EchConfig> configs;
  bool has_key = false;  // a private key is there, and the first configuration is its
};
// Error: no ECHCONFIG block, a malformed one, or a private key that is not the configuration's.
Result<EchKeyFile> parse_ech_key_file(std::string_view pem);

// A new X25519 key with its configuration, as PEM. Error: `public_name` is no host name.
Result<std::string> make_ech_key(std::string_view public_name, uint8_t max_name_length);

// What is wrong with a public name; empty: nothing (RFC 9849 4: a host name, and no IPv4 address).
std::string judge_public_name(std::string_view name);

// A record of type HTTPS in the form of zone files (RFC 9460 2.1, RFC 9848 4).
struct HttpsRecord {
  std::string host;
  uint16_t port = 443;
  uint32_t ttl = 3600;
  std::vector<std::string> alpn = {"h3", "h2"};
  std::string list;  // ECHConfigList
};
std::string zone_line(const HttpsRecord& record);

}  // namespace pqedge::crypto
