#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "wire/proxy_protocol/format.h"
#include "wire/proxy_protocol/header.h"

namespace pqedge::proxy_protocol {
namespace {

constexpr std::string_view kVersion1 = "PROXY ";

bool begins_alike(std::string_view bytes, std::string_view whole) {
  const size_t n = std::min(bytes.size(), whole.size());
  return bytes.substr(0, n) == whole.substr(0, n);
}

// ---- version 1 ---------------------------------------------------------------------------------

// The next word of a line whose words are parted by exactly one space; empty where there is none.
std::string_view next_word(std::string_view& line) {
  const size_t space = line.find(' ');
  const std::string_view word = line.substr(0, space);
  // The space after the last word stays, so that the line is seen not to end there.
  line.remove_prefix(space == line.npos ? line.size() : space + (space + 1 < line.size() ? 1 : 0));
  return word;
}

std::optional<uint16_t> port_of(std::string_view text) {
  if (text.empty() || text.size() > 5 || (text.size() > 1 && text.front() == '0')) return {};
  const auto n = parse_decimal(text);
  if (!n || *n > 65535) return std::nullopt;
  return static_cast<uint16_t>(*n);
}

Result<Header> parse_line(std::string_view line) {
  Header header{.version = 1};
  line.remove_prefix(kVersion1.size());
  if (line == "UNKNOWN" || line.starts_with("UNKNOWN ")) return header;
  const std::string_view protocol = next_word(line);
  const int family = protocol == "TCP4" ? AF_INET : protocol == "TCP6" ? AF_INET6 : AF_UNSPEC;
  if (family == AF_UNSPEC) return fail("PROXY v1: the protocol is not TCP4, TCP6 or UNKNOWN");
  const std::string_view source = next_word(line);
  const std::string_view destination = next_word(line);
  const std::string_view source_port = next_word(line);
  const std::string_view destination_port = next_word(line);
  if (destination_port.empty() || !line.empty())
    return fail("PROXY v1: not two addresses and two ports");
  const auto from = port_of(source_port);
  const auto to = port_of(destination_port);
  if (!from || !to) return fail("PROXY v1: a port is not a number up to 65535");
  const auto read = [&](std::string_view text, uint16_t port) -> std::optional<net::Address> {
    const bool is_six = text.find(':') != text.npos;
    // A zone (RFC 4007 11) is of another machine, and of no version of the protocol.
    if (is_six != (family == AF_INET6) || text.contains('%')) return std::nullopt;
    const auto address = net::Address::from_ip(text, port);
    return address ? std::optional(*address) : std::nullopt;
  };
  const auto a = read(source, *from);
  const auto b = read(destination, *to);
  if (!a || !b) return fail("PROXY v1: an address is none of its protocol");
  header.source = *a;
  header.destination = *b;
  return header;
}

Result<std::optional<Parsed>> parse_version1(std::string_view text) {
  const size_t end = text.substr(0, kMaxVersion1).find("\r\n");
  if (end == text.npos) {
    if (text.size() >= kMaxVersion1) return fail("PROXY v1: no end of line in 107 bytes");
    return std::optional<Parsed>{};
  }
  const std::string_view line = text.substr(0, end);
  if (line.find_first_of(std::string_view("\0\r\n\t", 4)) != line.npos) {
    return fail("PROXY v1: a control character");
  }
  auto header = parse_line(line);
  if (!header) return std::unexpected(header.error());
  return Parsed{std::move(*header), end + 2};
}

// ---- version 2 ---------------------------------------------------------------------------------

net::Address inet(const uint8_t* ip, const uint8_t* port) {
  sockaddr_in sa{};
  sa.sin_family = AF_INET;
  std::memcpy(&sa.sin_addr, ip, 4);
  std::memcpy(&sa.sin_port, port, 2);
  return net::Address::from_sockaddr(reinterpret_cast<const sockaddr*>(&sa), sizeof sa);
}

net::Address inet6(const uint8_t* ip, const uint8_t* port) {
  sockaddr_in6 sa{};
  sa.sin6_family = AF_INET6;
  std::memcpy(&sa.sin6_addr, ip, 16);
  std::memcpy(&sa.sin6_port, port, 2);
  return net::Address::from_sockaddr(reinterpret_cast<const sockaddr*>(&sa), sizeof sa);
}

// Takes the addresses off the front of `rest`.
Result<void> read_addresses(uint8_t family, Bytes& rest, Header& out) {
  const size_t size = family == kInet    ? kInetSize
                      : family == kInet6 ? kInet6Size
                      : family == kUnix  ? kUnixSize
                                         : 0;
  if (rest.size() < size) return fail("PROXY v2: shorter than its addresses");
  const uint8_t* p = rest.data();
  if (!out.is_local && family == kInet) {
    out.source = inet(p, p + 8);
    out.destination = inet(p + 4, p + 10);
  } else if (!out.is_local && family == kInet6) {
    out.source = inet6(p, p + 32);
    out.destination = inet6(p + 16, p + 34);
  }
  rest = rest.subspan(size);
  return {};
}

// Calls take(type, value) for each type-length-value; false: they do not fill `bytes`.
template <typename Take>
bool each_value(Bytes bytes, Take take) {
  while (!bytes.empty()) {
    if (bytes.size() < 3) return false;
    const size_t size = load_be16(bytes.data() + 1);
    if (bytes.size() - 3 < size) return false;
    if (!take(bytes[0], bytes.subspan(3, size))) return false;
    bytes = bytes.subspan(3 + size);
  }
  return true;
}

std::string printable(Bytes value) {
  const std::string_view text = as_text(value);
  const bool is_text = std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7f; });
  return is_text ? std::string(text) : std::string();
}

bool read_tls(Bytes value, Header& out) {
  if (value.size() < 5) return false;
  Tls tls;
  const uint8_t client = value[0];
  tls.client_certificate = (client & (kCertificateConnection | kCertificateSession)) != 0;
  tls.verified = tls.client_certificate && load_be32(value.data() + 1) == 0;
  const bool fits = each_value(value.subspan(5), [&](uint8_t type, Bytes part) {
    if (type == kSslVersion) tls.version = printable(part);
    if (type == kSslCipher) tls.cipher = printable(part);
    if (type == kSslGroup) tls.group = printable(part);
    if (type == kSslCommonName) tls.common_name = std::string(as_text(part));
    return true;
  });
  if ((client & kUsedTls) != 0) out.tls = std::move(tls);
  return fits;
}

// The checksum is taken with its own four bytes as zero (2.2.3).
bool checksum_holds(Bytes whole, Bytes value) {
  if (value.size() != 4) return false;
  std::string copy(as_text(whole));
  std::memset(copy.data() + (value.data() - whole.data()), 0, 4);
  return crc32c(copy) == load_be32(value.data());
}

Result<void> read_values(Bytes whole, Bytes rest, Header& out) {
  bool checksum = true;
  const bool fits = each_value(rest, [&](uint8_t type, Bytes value) {
    switch (type) {
      case kAlpn: out.alpn = printable(value); return true;
      case kAuthority: out.authority = printable(value); return true;
      case kUniqueId:
        if (value.size() > kMaxUniqueId) return false;
        out.unique_id = std::string(as_text(value));
        return true;
      case kSsl: return read_tls(value, out);
      case kCrc32c: checksum = checksum_holds(whole, value); return true;
      default: return true;  // of the balancer's own, or newer than this
    }
  });
  if (!fits) return fail("PROXY v2: a value is longer than the header, or malformed");
  if (!checksum) return fail("PROXY v2: the checksum does not hold");
  return {};
}

Result<std::optional<Parsed>> parse_version2(Bytes bytes) {
  if (bytes.size() < kFixed) return std::optional<Parsed>{};
  const uint8_t version = bytes[12] >> 4;
  const uint8_t command = bytes[12] & 0x0f;
  const uint8_t family = bytes[13] >> 4;
  const uint8_t transport = bytes[13] & 0x0f;
  const size_t size = kFixed + load_be16(bytes.data() + 14);
  if (version != 2) return fail("PROXY: version {} is not known", version);
  if (command > kProxy) return fail("PROXY v2: command {} is not known", command);
  if (family > kUnix || transport > kDatagram) return fail("PROXY v2: an unknown address family");
  if (size > kMaxVersion2) return fail("PROXY v2: {} bytes, more than {}", size, kMaxVersion2);
  if (bytes.size() < size) return std::optional<Parsed>{};
  Parsed parsed{.size = size};
  parsed.header.is_local = command == kLocal;
  parsed.header.is_datagram = transport == kDatagram;
  const Bytes whole = bytes.first(size);
  Bytes rest = whole.subspan(kFixed);
  if (auto ok = read_addresses(family, rest, parsed.header); !ok) {
    return std::unexpected(ok.error());
  }
  if (auto ok = read_values(whole, rest, parsed.header); !ok) return std::unexpected(ok.error());
  return parsed;
}

}  // namespace

bool may_be_header(Bytes bytes) {
  const std::string_view text = as_text(bytes);
  return begins_alike(text, kSignature) || begins_alike(text, kVersion1);
}

Result<std::optional<Parsed>> parse(Bytes bytes) {
  const std::string_view text = as_text(bytes);
  if (!may_be_header(bytes)) return fail("no PROXY header");
  if (text.starts_with(kSignature)) return parse_version2(bytes);
  if (text.starts_with(kVersion1)) return parse_version1(text);
  return std::optional<Parsed>{};
}

}  // namespace pqedge::proxy_protocol
