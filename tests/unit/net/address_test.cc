#include "net/address.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <random>

namespace pqedge::net {
namespace {

TEST(Address, ReadsWhatItWrites) {
  for (const char* text : {"192.0.2.1:443", "[2001:db8::1]:443", "[::]:0", "0.0.0.0:65535",
                           "unix:/run/pqedge.sock", "[fe80::1%1]:80"}) {
    const auto a = Address::parse(text);
    ASSERT_TRUE(a.has_value()) << text;
    EXPECT_EQ(a->to_string(), text);
    EXPECT_EQ(*Address::parse(a->to_string()), *a);
  }
  EXPECT_EQ(Address::parse(":443")->to_string(), "[::]:443");
  EXPECT_EQ(Address::parse("/run/x")->to_string(), "unix:/run/x");
}

TEST(Address, RefusesWhatIsNoAddress) {
  for (const char* text : {"",
                           ":",
                           "443",
                           "example.com:443",
                           "192.0.2.1",
                           "192.0.2.1:",
                           "192.0.2.1:65536",
                           "192.0.2.1:-1",
                           "192.0.2.1:4 3",
                           "192.0.2.256:1",
                           "192.0.2:1",
                           "192.0.2.01:1",
                           "1:2:3:1",
                           "::1:443",
                           "[::1]",
                           "[::1]443",
                           "[::1",
                           "[192.0.2.1]:1",
                           "[::g]:1",
                           "[]:1",
                           "unix:",
                           "unix:relative",
                           "[fe80::1%nosuchinterface0]:1",
                           "[::1]:443 "}) {
    EXPECT_FALSE(Address::parse(text).has_value()) << text;
  }
  EXPECT_FALSE(Address::parse("/" + std::string(107, 'a')).has_value());
  EXPECT_TRUE(Address::parse("/" + std::string(106, 'a')).has_value());
  EXPECT_FALSE(Address::parse(std::string_view("/a\0b", 4)).has_value());
  EXPECT_FALSE(Address::parse(std::string_view("127.0.0.1\0:1", 12)).has_value());
}

// A dual-stack listener sees IPv4 clients as ::ffff:a.b.c.d: one form for all rules.
TEST(Address, MappedIpv4IsIpv4) {
  const Address plain = *Address::parse("192.0.2.1:80");
  EXPECT_EQ(*Address::from_ip("::ffff:192.0.2.1", 80), plain);
  EXPECT_EQ(*Address::parse("[::ffff:192.0.2.1]:80"), plain);
  EXPECT_EQ(plain.ip16(), Address::from_ip("::ffff:c000:201", 80)->ip16());
}

TEST(Address, KnowsSpecialOnes) {
  EXPECT_TRUE(Address::parse("127.8.9.1:1")->is_loopback());
  EXPECT_TRUE(Address::parse("[::1]:1")->is_loopback());
  EXPECT_FALSE(Address::parse("128.0.0.1:1")->is_loopback());
  EXPECT_TRUE(Address::parse("0.0.0.0:1")->is_any());
  EXPECT_TRUE(Address::parse(":1")->is_any());
  EXPECT_FALSE(Address().is_any());
  EXPECT_EQ(Address().family(), AF_UNSPEC);
  EXPECT_EQ(Address(), Address());
  EXPECT_EQ(Address::parse("[::1]:7")->with_port(9), *Address::parse("[::1]:9"));
}

TEST(Address, ANamelessUnixPeerHasAText) {
  sockaddr_un un{};
  un.sun_family = AF_UNIX;
  const Address a = Address::from_sockaddr(reinterpret_cast<sockaddr*>(&un), sizeof(sa_family_t));
  EXPECT_TRUE(a.is_unix());
  EXPECT_EQ(a.ip(), "unix");
  EXPECT_EQ(a.to_string(), "unix:");
}

TEST(Address, CutSockaddrsAreNoAddress) {
  const Address six = *Address::parse("[2001:db8::1]:443");
  for (socklen_t n = 0; n < sizeof(sockaddr_in6); ++n) {
    EXPECT_EQ(Address::from_sockaddr(six.data(), n), Address()) << n;
  }
}

// The C library is the other opinion. It writes addresses below ::1:0:0 with dots, which RFC 5952 5
// leaves to well-known prefixes.
TEST(Address, WritesIpv6AsTheCLibraryDoes) {
  std::mt19937 random(5952);
  for (int i = 0; i < 20'000; ++i) {
    in6_addr a;
    for (uint8_t& b : a.s6_addr) b = 0;
    a.s6_addr[0] = 0x20;
    for (int group = 0; group < 8; ++group) {
      if (random() % 2 == 0) continue;
      a.s6_addr[2 * group] = static_cast<uint8_t>(random() % 3 == 0 ? random() : 0);
      a.s6_addr[2 * group + 1] = static_cast<uint8_t>(random());
    }
    if (a.s6_addr[0] == 0 && a.s6_addr[1] == 0) a.s6_addr[1] = 1;
    char text[INET6_ADDRSTRLEN];
    ASSERT_NE(inet_ntop(AF_INET6, &a, text, sizeof text), nullptr);
    EXPECT_EQ(Address::from_ip(text, 0)->ip(), text);
  }
  EXPECT_EQ(Address::from_ip("::", 0)->ip(), "::");
  EXPECT_EQ(Address::from_ip("::1", 0)->ip(), "::1");
  EXPECT_EQ(Address::from_ip("1::", 0)->ip(), "1::");
  // RFC 5952 4.2.2, 4.2.3: a single zero group is not shortened; of equal runs the first is.
  EXPECT_EQ(Address::from_ip("2001:db8:0:1:1:1:1:1", 0)->ip(), "2001:db8:0:1:1:1:1:1");
  EXPECT_EQ(Address::from_ip("2001:db8:0:0:1:0:0:1", 0)->ip(), "2001:db8::1:0:0:1");
}

TEST(Address, WritesIpv4AsTheCLibraryDoes) {
  std::mt19937 random(791);
  for (int i = 0; i < 5'000; ++i) {
    in_addr a{.s_addr = static_cast<uint32_t>(random())};
    char text[INET_ADDRSTRLEN];
    ASSERT_NE(inet_ntop(AF_INET, &a, text, sizeof text), nullptr);
    EXPECT_EQ(Address::from_ip(text, 0)->ip(), text);
  }
}

Address ip(std::string_view text) { return *Address::from_ip(text, 1); }

TEST(Network, ContainsItsAddresses) {
  const Network n = *Network::parse("192.0.2.128/25");
  EXPECT_TRUE(n.contains(ip("192.0.2.128")));
  EXPECT_TRUE(n.contains(ip("192.0.2.255")));
  EXPECT_FALSE(n.contains(ip("192.0.2.127")));
  const Network six = *Network::parse("2001:db8:8000::/33");
  EXPECT_TRUE(six.contains(ip("2001:db8:ffff::1")));
  EXPECT_FALSE(six.contains(ip("2001:db8:7fff::1")));
  EXPECT_TRUE(Network::parse("192.0.2.7")->contains(ip("192.0.2.7")));
  EXPECT_FALSE(Network::parse("192.0.2.7")->contains(ip("192.0.2.6")));
}

// A rule for all IPv6 must not take IPv4 clients with it, nor the other way.
TEST(Network, FamiliesStayApart) {
  EXPECT_FALSE(Network::parse("::/0")->contains(ip("192.0.2.1")));
  EXPECT_TRUE(Network::parse("::/0")->contains(ip("2001:db8::1")));
  EXPECT_TRUE(Network::parse("0.0.0.0/0")->contains(ip("192.0.2.1")));
  EXPECT_FALSE(Network::parse("0.0.0.0/0")->contains(ip("::1")));
  EXPECT_FALSE(Network::parse("0.0.0.0/0")->contains(*Address::parse("/run/x")));
  EXPECT_TRUE(Network::parse("::ffff:10.0.0.0/104")->contains(ip("10.1.2.3")));
}

TEST(Network, ReadsWhatItWrites) {
  for (const char* text : {"10.0.0.0/8", "192.0.2.7/32", "2001:db8::/32", "::/0", "0.0.0.0/0"}) {
    EXPECT_EQ(Network::parse(text)->to_string(), text);
  }
  EXPECT_EQ(Network::parse("::1")->to_string(), "::1/128");
}

TEST(Network, RefusesWhatIsNoNetwork) {
  for (const char* text :
       {"", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.1/8", "2001:db8::/129", "2001:db8::1/64",
        "10.0.0.0/8 ", "example.com/8", "10.0.0.0/-1", "::ffff:0.0.0.0/90", "fe80::%1/64"}) {
    EXPECT_FALSE(Network::parse(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace pqedge::net
