// The PROXY protocol, versions 1 and 2: who the client is, told by a balancer before the first byte
// of a connection (HAProxy's doc/proxy-protocol.txt, whose sections are cited here).
//
// Reading decides nothing about trust: call it only for bytes of a peer that is named as trusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "net/address.h"

namespace pqedge::proxy_protocol {

inline constexpr size_t kMaxVersion1 = 107;        // with its CRLF (2.1)
inline constexpr size_t kMaxVersion2 = 16 + 4096;  // ours: the format would allow 64 KiB

// What a PP2_TYPE_SSL value says of the client's TLS (2.2.5).
struct Tls {
  bool client_certificate = false;  // presented on this connection, or on the session's first
  bool verified = false;            // and it was found good
  std::string version;              // "TLSv1.3"
  std::string cipher;
  std::string common_name;
  std::string group;  // "X25519MLKEM768"
};

struct Header {
  uint8_t version = 2;
  bool is_local = false;  // the balancer's own (a health check): its own address holds
  bool is_datagram = false;
  net::Address source;  // empty: unknown, the connection's own address holds
  net::Address destination;
  std::string alpn;
  std::string authority;  // the SNI the client asked for
  std::string unique_id;  // at most 128 bytes
  std::optional<Tls> tls;
};

struct Parsed {
  Header header;
  size_t size = 0;  // bytes that the header took; what follows is the connection's
};

// Empty: more bytes are needed. An error: this is no header, or one that contradicts itself; it
// says what is wrong, and never quotes what the peer sent.
Result<std::optional<Parsed>> parse(Bytes bytes);

// Whether `bytes`, however few, can still become a header.
bool may_be_header(Bytes bytes);

// "PROXY TCP4 ... \r\n", or "PROXY UNKNOWN\r\n" where the addresses are not two IP addresses.
std::string write_version1(const Header& header);
// With every value that is set, and a CRC-32C (PP2_TYPE_CRC32C) over the whole.
std::string write_version2(const Header& header);

// RFC 3720 appendix B.4.
uint32_t crc32c(std::string_view bytes);

}  // namespace pqedge::proxy_protocol
