// What one live handshake is asked to be.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace pqedge::measure::live {

enum class Transport : uint8_t { kTls, kQuic, kSsh };
enum class StartTls : uint8_t { kNone, kSmtp, kImap, kPop3, kLdap, kXmpp, kPostgres };

std::string_view transport_name(Transport transport);  // "tls", "quic", "ssh"

struct Options {
  Transport transport = Transport::kTls;
  StartTls starttls = StartTls::kNone;
  std::string host;         // name or address, without brackets
  uint16_t port = 0;        // 0: the protocol's own
  std::string connect;      // "ADDRESS[:PORT]" to connect to, when not the host's
  std::string sni;          // when not the host; never sent for an address
  std::string groups;       // OpenSSL's list, SSH: methods by commas; empty: the library's default
  std::string sigalgs;      // OpenSSL's list; empty: the library's default
  std::string alpn;         // names by commas; empty: none, "h3" for QUIC
  std::string certificate;  // PEM files of the client
  std::string key;
  Nanos timeout = 10 * kSecond;  // for all of it
};

// The port in use: the option's, or the protocol's own (443, 22, 25, 143, ...).
uint16_t port_of(const Options& options);

// Reads "HOST", "HOST:PORT" or "[IPV6]:PORT" into the options.
Result<void> set_target(Options& options, std::string_view text);

Result<StartTls> parse_starttls(std::string_view name);

// Refuses what cannot work together, with a hint.
Result<void> validate(const Options& options);

}  // namespace pqedge::measure::live
