#include <gtest/gtest.h>

#include <cctype>
#include <string>

#include "http/uri.h"

namespace pqedge::http {
namespace {

std::string parsed(std::string_view text) {
  Arena arena;
  const auto a = parse_authority(text, arena);
  if (!a) return "refused " + std::to_string(a.error().status);
  return std::string(a->host) + " " + std::to_string(a->port);
}

constexpr std::string_view kRefused = "refused 400";

TEST(Authority, HostAndPort) {  // RFC 3986 3.2.2, 3.2.3
  EXPECT_EQ(parsed("a.test"), "a.test 0");
  EXPECT_EQ(parsed("a.test:443"), "a.test 443");
  EXPECT_EQ(parsed("a.test:"), "a.test 0");
  EXPECT_EQ(parsed("a.test:00443"), "a.test 443");
  EXPECT_EQ(parsed("192.0.2.1:65535"), "192.0.2.1 65535");
  EXPECT_EQ(parsed("my_service"), "my_service 0");
  EXPECT_EQ(parsed("xn--bcher-kva.example"), "xn--bcher-kva.example 0");
}

TEST(Authority, OneSpelling) {
  EXPECT_EQ(parsed("WWW.A.Test"), "www.a.test 0");
  EXPECT_EQ(parsed("a.test."), "a.test 0");
  EXPECT_EQ(parsed("A.TEST.:8443"), "a.test 8443");
  EXPECT_EQ(parsed("[2001:DB8:0:0::1]:443"), "[2001:db8::1] 443");  // RFC 5952
  EXPECT_EQ(parsed("[::1]"), "[::1] 0");
}

TEST(Authority, RefusesUserinfoAndOtherBytes) {
  for (int c = 0; c < 256; ++c) {
    const char byte = static_cast<char>(c);
    const bool name = c < 128 && (std::isalnum(c) != 0 ||
                                  std::string_view("-._~:").find(byte) != std::string_view::npos);
    const std::string text = std::string("a") + byte + "1";
    EXPECT_EQ(parsed(text) == kRefused, !name) << c;
  }
  for (const char* text : {"user@a.test", "user:pw@a.test", "a.test/", "a%2e.test", "a,b",
                           "*.a.test", "a.test:80@b.test", "a.test\\b", "http://a.test"}) {
    EXPECT_EQ(parsed(text), kRefused) << text;
  }
}

TEST(Authority, RefusesEmptyHostsAndLabels) {
  for (const char* text : {"", ".", "..", ":443", ":", "a..b", ".a", "a..", "[]", "[]:1"}) {
    EXPECT_EQ(parsed(text), kRefused) << text;
  }
}

TEST(Authority, RefusesMalformedPorts) {
  for (const char* text : {"a:0", "a:65536", "a:-1", "a:+1", "a:4 3", "a:443x", "a:443:443", "a::1",
                           "a:000443", "[::1]443", "[::1]:x", "[::1]:0", "::1", "2001:db8::1"}) {
    EXPECT_EQ(parsed(text), kRefused) << text;
  }
}

TEST(Authority, RefusesMalformedLiterals) {
  for (const char* text : {"[", "[::1", "[::g]", "[1.2.3.4]", "[v1.a]", "[fe80::1%25eth0]",
                           "[::1]]", "[[::1]]", "[:::]", "[1:2:3:4:5:6:7:8:9]"}) {
    EXPECT_EQ(parsed(text), kRefused) << text;
  }
  EXPECT_EQ(parsed(std::string_view("[::1\0]", 6)), kRefused);
}

TEST(Authority, LengthIsBounded) {  // RFC 1035 2.3.4
  std::string name;
  while (name.size() < 250) name += "aaaaaaaaa.";
  name.resize(253, 'b');
  EXPECT_EQ(parsed(name), name + " 0");
  EXPECT_EQ(parsed(name + "."), name + " 0");
  EXPECT_EQ(parsed(name + "c"), kRefused);
}

}  // namespace
}  // namespace pqedge::http
