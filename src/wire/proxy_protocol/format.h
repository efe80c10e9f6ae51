// Numbers of PROXY protocol version 2 (doc/proxy-protocol.txt 2.2). Private to this folder.
#pragma once

#include <cstdint>
#include <string_view>

namespace pqedge::proxy_protocol {

inline constexpr std::string_view kSignature{"\r\n\r\n\0\r\nQUIT\n", 12};
inline constexpr size_t kFixed = 16;  // signature, version and command, family, length

enum Command : uint8_t { kLocal = 0, kProxy = 1 };
enum Family : uint8_t { kUnspecified = 0, kInet = 1, kInet6 = 2, kUnix = 3 };
enum Transport : uint8_t { kNone = 0, kStream = 1, kDatagram = 2 };

inline constexpr size_t kInetSize = 12;
inline constexpr size_t kInet6Size = 36;
inline constexpr size_t kUnixSize = 216;
inline constexpr size_t kUnixPath = 108;

enum Type : uint8_t {
  kAlpn = 0x01,
  kAuthority = 0x02,
  kCrc32c = 0x03,
  kNoop = 0x04,
  kUniqueId = 0x05,
  kSsl = 0x20,
};
enum SslType : uint8_t {
  kSslVersion = 0x21,
  kSslCommonName = 0x22,
  kSslCipher = 0x23,
  kSslGroup = 0x26,
};
enum SslClient : uint8_t { kUsedTls = 1, kCertificateConnection = 2, kCertificateSession = 4 };

inline constexpr size_t kMaxUniqueId = 128;

}  // namespace pqedge::proxy_protocol
