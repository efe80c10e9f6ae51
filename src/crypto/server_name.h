// Judges the host name that a client asks for (SNI).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pqedge::crypto {

enum class NameVerdict : uint8_t {
  host,        // a host name; `lower` holds it in lower case, without a trailing dot
  ip_literal,  // RFC 6066 3 forbids it; some clients send one: it names no certificate
  malformed,   // not a host name of ASCII letters, digits, hyphens and underscores
};

// `lower` is empty unless the verdict is `host`.
NameVerdict judge_server_name(std::string_view sent, std::string& lower);

}  // namespace pqedge::crypto
