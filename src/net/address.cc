#include "net/address.h"

#include <arpa/inet.h>
#include <net/if.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>

#include "base/bytes.h"
#include "base/text.h"

namespace pqedge::net {
namespace {

constexpr std::array<uint8_t, 12> kMappedPrefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

bool parse_v4(std::string_view text, in_addr& out) {
  char buffer[INET_ADDRSTRLEN];
  if (text.empty() || text.size() >= sizeof buffer) return false;
  std::memcpy(buffer, text.data(), text.size());
  buffer[text.size()] = '\0';
  return std::strlen(buffer) == text.size() && inet_pton(AF_INET, buffer, &out) == 1;
}

bool parse_v6(std::string_view text, in6_addr& out) {
  char buffer[INET6_ADDRSTRLEN];
  if (text.empty() || text.size() >= sizeof buffer) return false;
  std::memcpy(buffer, text.data(), text.size());
  buffer[text.size()] = '\0';
  return std::strlen(buffer) == text.size() && inet_pton(AF_INET6, buffer, &out) == 1;
}

// The zone of a link-local address (RFC 4007 11): an interface's number or name.
std::optional<uint32_t> parse_zone(std::string_view zone) {
  if (const auto number = parse_decimal(zone); number && *number <= UINT32_MAX) {
    return static_cast<uint32_t>(*number);
  }
  const uint32_t index = if_nametoindex(std::string(zone).c_str());
  if (index == 0) return std::nullopt;
  return index;
}

std::optional<uint16_t> parse_port(std::string_view text) {
  const auto number = parse_decimal(text);
  if (!number || *number > 65535) return std::nullopt;
  return static_cast<uint16_t>(*number);
}

char* put_octet(char* p, uint8_t n) {
  if (n >= 100) *p++ = static_cast<char>('0' + n / 100);
  if (n >= 10) *p++ = static_cast<char>('0' + n / 10 % 10);
  *p++ = static_cast<char>('0' + n % 10);
  return p;
}

char* put_v4(char* p, const uint8_t* ip) {
  for (int i = 0; i < 4; ++i) {
    if (i != 0) *p++ = '.';
    p = put_octet(p, ip[i]);
  }
  return p;
}

char* put_group(char* p, uint32_t group) {
  bool leading = true;
  for (int shift = 12; shift >= 0; shift -= 4) {
    const uint32_t digit = group >> shift & 15;
    leading = leading && digit == 0 && shift != 0;
    if (!leading) *p++ = "0123456789abcdef"[digit];
  }
  return p;
}

// RFC 5952: the longest run of two or more zero groups, the first of equals, becomes "::".
char* put_v6(char* p, const uint8_t* ip) {
  uint32_t groups[8];
  for (int i = 0; i < 8; ++i) groups[i] = load_be16(ip + 2 * i);
  int best = 8;
  int longest = 1;
  for (int i = 0, run = 0; i < 8; ++i) {
    run = groups[i] == 0 ? run + 1 : 0;
    if (run > longest) {
      longest = run;
      best = i - run + 1;
    }
  }
  for (int i = 0; i < 8; ++i) {
    if (i == best) {
      *p++ = ':';
      i += longest - 1;
      if (i == 7) *p++ = ':';
      continue;
    }
    if (i != 0) *p++ = ':';
    p = put_group(p, groups[i]);
  }
  return p;
}

}  // namespace

Result<Address> Address::from_ip(std::string_view ip, uint16_t port) {
  Address a;
  if (parse_v4(ip, a.storage_.v4.sin_addr)) {
    a.storage_.v4.sin_family = AF_INET;
    a.storage_.v4.sin_port = htons(port);
    a.size_ = sizeof(sockaddr_in);
    return a;
  }
  a.storage_ = Storage{};
  const size_t percent = ip.find('%');
  if (percent != std::string_view::npos) {
    const auto zone = parse_zone(ip.substr(percent + 1));
    if (!zone) return fail("'{}' names no network interface of this machine", ip);
    a.storage_.v6.sin6_scope_id = *zone;
  }
  if (!parse_v6(ip.substr(0, percent), a.storage_.v6.sin6_addr)) {
    return fail("'{}' is not an IP address", ip);
  }
  a.storage_.v6.sin6_family = AF_INET6;
  a.storage_.v6.sin6_port = htons(port);
  a.size_ = sizeof(sockaddr_in6);
  return from_sockaddr(a.data(), a.size_);
}

Result<Address> Address::parse(std::string_view text) {
  if (text.starts_with("unix:") || text.starts_with('/')) {
    const std::string_view path = text.starts_with('/') ? text : text.substr(5);
    Address a;
    if (!path.starts_with('/')) return fail("'{}': a Unix socket needs an absolute path", text);
    if (path.size() >= sizeof a.storage_.un.sun_path) {
      return fail("'{}': a Unix socket's path may have at most {} bytes", text,
                  sizeof a.storage_.un.sun_path - 1);
    }
    if (path.contains('\0')) return fail("a Unix socket's path may not contain a NUL byte");
    a.storage_.un.sun_family = AF_UNIX;
    std::memcpy(a.storage_.un.sun_path, path.data(), path.size());
    a.size_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
    return a;
  }
  const size_t colon = text.rfind(':');
  const bool bracketed = text.starts_with('[');
  if (colon == std::string_view::npos || (bracketed && (colon == 0 || text[colon - 1] != ']'))) {
    return fail("'{}' has no port: write it as ADDRESS:PORT", text);
  }
  std::string_view ip = text.substr(0, colon);
  const auto port = parse_port(text.substr(colon + 1));
  if (!port) return fail("'{}': the port must be a number from 0 to 65535", text);
  if (ip.empty()) return from_ip("::", *port);
  if (bracketed) {
    ip = ip.substr(1, ip.size() - 2);
    if (!ip.contains(':')) return fail("'{}': only an IPv6 address stands in brackets", text);
  } else if (ip.contains(':')) {
    return fail("'{}': an IPv6 address stands in brackets, as in [2001:db8::1]:443", text);
  }
  auto address = from_ip(ip, *port);
  if (!address) return fail("'{}' is not an IP address and port; names are not looked up", text);
  return address;
}

Address Address::from_sockaddr(const sockaddr* sa, socklen_t length) {
  Address a;
  if (sa == nullptr || length < sizeof(sa_family_t)) return a;
  switch (sa->sa_family) {
    case AF_INET:
      if (length < sizeof(sockaddr_in)) return a;
      a.size_ = sizeof(sockaddr_in);
      break;
    case AF_INET6: {
      if (length < sizeof(sockaddr_in6)) return a;
      const auto* v6 = reinterpret_cast<const sockaddr_in6*>(sa);
      if (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr)) {
        a.storage_.v4.sin_family = AF_INET;
        a.storage_.v4.sin_port = v6->sin6_port;
        std::memcpy(&a.storage_.v4.sin_addr, v6->sin6_addr.s6_addr + 12, 4);
        a.size_ = sizeof(sockaddr_in);
        return a;
      }
      a.size_ = sizeof(sockaddr_in6);
      break;
    }
    case AF_UNIX: a.size_ = std::min<socklen_t>(length, sizeof(sockaddr_un)); break;
    default: return a;
  }
  std::memcpy(&a.storage_, sa, a.size_);
  return a;
}

bool Address::is_loopback() const {
  switch (family()) {
    case AF_INET: return (ntohl(storage_.v4.sin_addr.s_addr) >> 24) == 127;
    case AF_INET6: return IN6_IS_ADDR_LOOPBACK(&storage_.v6.sin6_addr);
    default: return false;
  }
}

bool Address::is_any() const {
  switch (family()) {
    case AF_INET: return storage_.v4.sin_addr.s_addr == INADDR_ANY;
    case AF_INET6: return IN6_IS_ADDR_UNSPECIFIED(&storage_.v6.sin6_addr);
    default: return false;
  }
}

uint16_t Address::port() const {
  switch (family()) {
    case AF_INET: return ntohs(storage_.v4.sin_port);
    case AF_INET6: return ntohs(storage_.v6.sin6_port);
    default: return 0;
  }
}

Address Address::with_port(uint16_t port) const {
  Address a = *this;
  if (family() == AF_INET) a.storage_.v4.sin_port = htons(port);
  if (family() == AF_INET6) a.storage_.v6.sin6_port = htons(port);
  return a;
}

const std::array<uint8_t, 16> Address::ip16() const {
  std::array<uint8_t, 16> ip{};
  if (family() == AF_INET) {
    std::ranges::copy(kMappedPrefix, ip.begin());
    std::memcpy(ip.data() + 12, &storage_.v4.sin_addr, 4);
  } else if (family() == AF_INET6) {
    std::memcpy(ip.data(), &storage_.v6.sin6_addr, 16);
  }
  return ip;
}

size_t Address::write_ip(char* out) const {
  switch (family()) {
    case AF_INET: {
      uint8_t ip[4];
      std::memcpy(ip, &storage_.v4.sin_addr, sizeof ip);
      return static_cast<size_t>(put_v4(out, ip) - out);
    }
    case AF_INET6: return static_cast<size_t>(put_v6(out, storage_.v6.sin6_addr.s6_addr) - out);
    case AF_UNIX: std::memcpy(out, "unix", 4); return 4;
    default: return 0;
  }
}

std::string Address::ip() const {
  char text[kMaxIpText];
  return std::string(text, write_ip(text));
}

std::string Address::to_string() const {
  switch (family()) {
    case AF_INET: return std::format("{}:{}", ip(), port());
    case AF_INET6: {
      const uint32_t zone = storage_.v6.sin6_scope_id;
      if (zone != 0) return std::format("[{}%{}]:{}", ip(), zone, port());
      return std::format("[{}]:{}", ip(), port());
    }
    case AF_UNIX: {
      const size_t room = size_ - std::min<size_t>(size_, offsetof(sockaddr_un, sun_path));
      return "unix:" + std::string(storage_.un.sun_path, strnlen(storage_.un.sun_path, room));
    }
    default: return {};
  }
}

bool operator==(const Address& a, const Address& b) {
  if (a.family() != b.family()) return false;
  switch (a.family()) {
    case AF_INET:
      return a.storage_.v4.sin_port == b.storage_.v4.sin_port &&
             a.storage_.v4.sin_addr.s_addr == b.storage_.v4.sin_addr.s_addr;
    case AF_INET6:
      return a.storage_.v6.sin6_port == b.storage_.v6.sin6_port &&
             a.storage_.v6.sin6_scope_id == b.storage_.v6.sin6_scope_id &&
             std::memcmp(&a.storage_.v6.sin6_addr, &b.storage_.v6.sin6_addr, 16) == 0;
    case AF_UNIX: return a.to_string() == b.to_string();
    default: return true;
  }
}

Result<Network> Network::parse(std::string_view text) {
  const size_t slash = text.find('/');
  const auto address = Address::from_ip(text.substr(0, slash), 0);
  if (!address || text.contains('%')) return fail("'{}' is not an IP network", text);
  Network n;
  n.ip_ = address->ip16();
  n.v4_ = address->family() == AF_INET;
  // "::ffff:192.0.2.0/120" is read as IPv4; its prefix is of the 16-byte form.
  const bool short_form = n.v4_ && !text.substr(0, slash).contains(':');
  const int widest = short_form ? 32 : 128;
  int prefix = widest;
  if (slash != std::string_view::npos) {
    const auto number = parse_decimal(text.substr(slash + 1));
    if (!number || *number > static_cast<uint64_t>(widest)) {
      return fail("'{}': the prefix must be a number from 0 to {}", text, widest);
    }
    prefix = static_cast<int>(*number);
  }
  n.prefix_ = short_form ? prefix + 96 : prefix;
  if (n.v4_ && n.prefix_ < 96) return fail("'{}' is neither an IPv4 nor an IPv6 network", text);
  for (int bit = n.prefix_; bit < 128; ++bit) {
    if (n.ip_[static_cast<size_t>(bit / 8)] & (0x80 >> (bit % 8))) {
      return fail("'{}' has bits set after its prefix; write the network's first address", text);
    }
  }
  return n;
}

bool Network::contains(const Address& address) const {
  if (!address.is_ip() || (address.family() == AF_INET) != v4_) return false;
  const auto ip = address.ip16();
  const auto whole = static_cast<size_t>(prefix_ / 8);
  if (std::memcmp(ip.data(), ip_.data(), whole) != 0) return false;
  const int rest = prefix_ % 8;
  if (rest == 0) return true;
  const auto mask = static_cast<uint8_t>(0xff << (8 - rest));
  return (ip[whole] & mask) == (ip_[whole] & mask);
}

std::string Network::to_string() const {
  char text[Address::kMaxIpText];
  const char* const end = v4_ ? put_v4(text, ip_.data() + 12) : put_v6(text, ip_.data());
  return std::format("{}/{}", std::string_view(text, end), v4_ ? prefix_ - 96 : prefix_);
}

}  // namespace pqedge::net
