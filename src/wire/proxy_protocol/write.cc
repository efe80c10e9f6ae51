#include <array>
#include <format>

#include "wire/proxy_protocol/format.h"
#include "wire/proxy_protocol/header.h"

namespace pqedge::proxy_protocol {
namespace {

// Both addresses as one family: IPv4 beside IPv6 is written as IPv4-mapped IPv6.
Family family_of(const Header& header) {
  if (header.is_local || !header.source.is_ip() || !header.destination.is_ip()) {
    return kUnspecified;
  }
  const bool both_four =
      header.source.family() == AF_INET && header.destination.family() == AF_INET;
  return both_four ? kInet : kInet6;
}

void put_be16(std::string& out, size_t n) {
  out += static_cast<char>(n >> 8);
  out += static_cast<char>(n & 0xff);
}

void put_value(std::string& out, uint8_t type, std::string_view value) {
  if (value.empty()) return;
  out += static_cast<char>(type);
  put_be16(out, value.size());
  out += value;
}

void put_ip(std::string& out, const net::Address& address, Family family) {
  const std::array<uint8_t, 16> ip = address.ip16();
  const std::string_view text(reinterpret_cast<const char*>(ip.data()), ip.size());
  out += family == kInet ? text.substr(12) : text;
}

std::string tls_value(const Tls& tls) {
  std::string out;
  out += static_cast<char>(kUsedTls | (tls.client_certificate ? kCertificateConnection : 0));
  out.append(3, '\0');
  out += tls.verified ? '\0' : '\1';  // of the verification: 0 is good
  put_value(out, kSslVersion, tls.version);
  put_value(out, kSslCommonName, tls.common_name);
  put_value(out, kSslCipher, tls.cipher);
  put_value(out, kSslGroup, tls.group);
  return out;
}

}  // namespace

std::string write_version1(const Header& header) {
  const Family family = family_of(header);
  const net::Address& a = header.source;
  const net::Address& b = header.destination;
  // One line has one family; it knows no IPv4-mapped form.
  if (family == kUnspecified || header.is_datagram || a.family() != b.family()) {
    return "PROXY UNKNOWN\r\n";
  }
  return std::format("PROXY {} {} {} {} {}\r\n", family == kInet ? "TCP4" : "TCP6", a.ip(), b.ip(),
                     a.port(), b.port());
}

std::string write_version2(const Header& header) {
  const Family family = family_of(header);
  std::string out(kSignature);
  out += static_cast<char>(2 << 4 | (header.is_local ? kLocal : kProxy));
  const Transport transport = family == kUnspecified ? kNone
                              : header.is_datagram   ? kDatagram
                                                     : kStream;
  out += static_cast<char>(family << 4 | transport);
  put_be16(out, 0);  // the length, set below
  if (family != kUnspecified) {
    put_ip(out, header.source, family);
    put_ip(out, header.destination, family);
    put_be16(out, header.source.port());
    put_be16(out, header.destination.port());
  }
  put_value(out, kAlpn, header.alpn);
  put_value(out, kAuthority, header.authority);
  put_value(out, kUniqueId, header.unique_id);
  if (header.tls) put_value(out, kSsl, tls_value(*header.tls));
  put_value(out, kCrc32c, std::string_view("\0\0\0\0", 4));
  auto* bytes = reinterpret_cast<uint8_t*>(out.data());
  store_be16(bytes + 14, static_cast<uint16_t>(out.size() - kFixed));
  store_be32(bytes + out.size() - 4, crc32c(out));
  return out;
}

uint32_t crc32c(std::string_view bytes) {
  static const auto table = [] {
    std::array<uint32_t, 256> t{};
    for (uint32_t i = 0; i < t.size(); ++i) {
      uint32_t c = i;
      for (int bit = 0; bit < 8; ++bit) c = (c >> 1) ^ ((c & 1) != 0 ? 0x82f63b78u : 0);
      t[i] = c;
    }
    return t;
  }();
  uint32_t crc = ~uint32_t{0};
  for (const char c : bytes) crc = (crc >> 8) ^ table[(crc ^ static_cast<uint8_t>(c)) & 0xff];
  return ~crc;
}

}  // namespace pqedge::proxy_protocol
