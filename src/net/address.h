// Socket addresses and networks.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace pqedge::net {

// An IPv4, IPv6 or Unix socket address. An IPv4-mapped IPv6 address (a dual-stack listener's
// client) is turned into IPv4 when it is read from the kernel, so that rules see one form.
class Address {
 public:
  Address() = default;
  // "192.0.2.1:443", "[2001:db8::1]:443", ":443" (all IPv6 and IPv4), "unix:/path" or "/path".
  // A host name is an error: names are resolved by `jobs`.
  static Result<Address> parse(std::string_view text);
  static Result<Address> from_ip(std::string_view ip, uint16_t port);
  static Address from_sockaddr(const sockaddr* sa, socklen_t length);

  const sockaddr* data() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t size() const { return size_; }
  int family() const { return size_ == 0 ? AF_UNSPEC : storage_.sa.sa_family; }
  bool is_ip() const { return family() == AF_INET || family() == AF_INET6; }
  bool is_unix() const { return family() == AF_UNIX; }
  bool is_loopback() const;
  bool is_any() const;
  uint16_t port() const;
  Address with_port(uint16_t port) const;

  // The 16 bytes of the IP, IPv4 as ::ffff:a.b.c.d; zero for others.
  const std::array<uint8_t, 16> ip16() const;

  std::string ip() const;  // "192.0.2.1", "2001:db8::1" (RFC 5952), "unix"
  static constexpr size_t kMaxIpText = INET6_ADDRSTRLEN;
  // The same without an allocation: writes at most kMaxIpText bytes and returns how many.
  size_t write_ip(char* out) const;
  std::string to_string() const;  // with the port, as parse() reads it

  friend bool operator==(const Address& a, const Address& b);

 private:
  union Storage {
    sockaddr sa;
    sockaddr_in v4;
    sockaddr_in6 v6;
    sockaddr_un un;
  } storage_{};
  socklen_t size_ = 0;
};

// An IP network in CIDR form; a bare address is a network of one.
class Network {
 public:
  static Result<Network> parse(std::string_view text);
  bool contains(const Address& address) const;
  std::string to_string() const;

 private:
  std::array<uint8_t, 16> ip_{};
  int prefix_ = 0;  // bits of the 16-byte form: an IPv4 /24 is 120
  bool v4_ = false;
};

}  // namespace pqedge::net
