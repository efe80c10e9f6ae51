// Names of TLS's numbers, as IANA's registries and RFC 8446 write them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace pqedge::crypto {

struct CodeName {
  uint16_t code;
  std::string_view name;  // static
};

// "X25519MLKEM768", or "0x1234" for one that is not known here.
std::string group_name(uint16_t code);
std::string signature_scheme_name(uint16_t code);
std::string cipher_suite_name(uint16_t code);
// "handshake_failure (40)" (RFC 8446 6).
std::string alert_name(uint8_t code);
std::string compression_name(uint16_t code);  // RFC 8879 7.3

// All schemes that are known here, each once.
std::span<const CodeName> signature_scheme_names();
// The static name of a scheme, whatever the case of letters; empty for one that is not known here.
std::string_view known_signature_scheme(std::string_view name);

}  // namespace pqedge::crypto
