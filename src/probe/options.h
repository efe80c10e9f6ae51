// What `pqedge probe` is asked to look at.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace pqedge::probe {

enum class StartTls : uint8_t { none, smtp, imap };
enum class Family : uint8_t { any, v4, v6 };

inline constexpr unsigned kMaxParallel = 4;

struct Options {
  std::string host;           // name or address, without brackets
  uint16_t port = 0;          // 0: the protocol's own
  std::string sni;            // when not the host
  std::string ca_file;        // PEM; empty: the system's store
  bool ignore_trust = false;  // the grade does not look at whether the chain is trusted
  bool quic = true;           // ask the UDP port of the same number too
  StartTls starttls = StartTls::none;
  Family family = Family::any;
  unsigned parallel = 1;
  Nanos timeout = 5 * kSecond;  // of each connection, from its first packet to its end
};

// Reads "HOST", "HOST:PORT", "[IPV6]:PORT" or a bare IPv6 address.
Result<void> set_target(Options& options, std::string_view text);
Result<StartTls> parse_starttls(std::string_view name);
uint16_t port_of(const Options& options);
// Whether the host is written as an address: no server name is sent for one (RFC 6066 3).
bool is_address(const std::string& host);
// What is sent as server_name; empty: nothing.
std::string server_name(const Options& options);

}  // namespace pqedge::probe
