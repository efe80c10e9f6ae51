// The PROXY protocol (doc/proxy-protocol.txt): its own examples, and what must not be believed.
#include "wire/proxy_protocol/header.h"

#include <gtest/gtest.h>

#include <string>

namespace pqedge::proxy_protocol {
namespace {

std::optional<Parsed> good(std::string_view text) {
  auto parsed = parse(as_bytes(text));
  EXPECT_TRUE(parsed.has_value()) << (parsed ? "" : parsed.error().message);
  return parsed ? *parsed : std::nullopt;
}

std::string error_of(std::string_view text) {
  const auto parsed = parse(as_bytes(text));
  return parsed ? "" : parsed.error().message;
}

bool is_incomplete(std::string_view text) {
  const auto parsed = parse(as_bytes(text));
  return parsed.has_value() && !parsed->has_value();
}

// 2.1: the longest lines of each kind.
TEST(ProxyVersion1, TheLongestLinesOfTheSpecification) {
  const std::string four = "PROXY TCP4 255.255.255.255 255.255.255.255 65535 65535\r\n";
  EXPECT_EQ(four.size(), 56u);
  const auto a = good(four + "GET /");
  ASSERT_TRUE(a);
  EXPECT_EQ(a->size, four.size());
  EXPECT_EQ(a->header.source.to_string(), "255.255.255.255:65535");

  const std::string six =
      "PROXY TCP6 ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff "
      "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n";
  EXPECT_EQ(six.size(), 104u);
  const auto b = good(six);
  ASSERT_TRUE(b);
  EXPECT_EQ(b->header.destination.port(), 65535);

  const std::string unknown =
      "PROXY UNKNOWN ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff "
      "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n";
  EXPECT_EQ(unknown.size(), kMaxVersion1);
  const auto c = good(unknown);
  ASSERT_TRUE(c);
  EXPECT_FALSE(c->header.source.is_ip());
  EXPECT_TRUE(good("PROXY UNKNOWN\r\n"));
}

TEST(ProxyVersion1, EveryPieceIsIncompleteUntilTheLast) {
  const std::string line = "PROXY TCP4 192.168.0.1 192.168.0.11 56324 443\r\n";
  for (size_t n = 1; n < line.size(); ++n) {
    EXPECT_TRUE(is_incomplete(std::string_view(line).substr(0, n))) << n;
  }
  const auto parsed = good(line);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->header.source.to_string(), "192.168.0.1:56324");
  EXPECT_EQ(parsed->header.destination.to_string(), "192.168.0.11:443");
}

TEST(ProxyVersion1, MalformedLinesAreErrors) {
  for (const std::string_view line : {
           "PROXY TCP4 192.168.0.1 192.168.0.11 56324\r\n",
           "PROXY TCP4 192.168.0.1 192.168.0.11 56324 443 9\r\n",
           "PROXY TCP4 192.168.0.1 192.168.0.11 56324 443 \r\n",
           "PROXY TCP4  192.168.0.1 192.168.0.11 56324 443\r\n",
           "PROXY TCP4 192.168.0.1 192.168.0.11 056324 443\r\n",
           "PROXY TCP4 192.168.0.1 192.168.0.11 65536 443\r\n",
           "PROXY TCP4 192.168.0.1 192.168.0.11 -1 443\r\n",
           "PROXY TCP4 ::1 ::1 1 2\r\n",
           "PROXY TCP6 1::%1 ::1 1 2\r\n",  // a zone
           "PROXY TCP6 ::1 fe80::1%lo 1 2\r\n",
           "PROXY TCP6 127.0.0.1 127.0.0.1 1 2\r\n",
           "PROXY TCP4 localhost 127.0.0.1 1 2\r\n",
           "PROXY UDP4 127.0.0.1 127.0.0.1 1 2\r\n",
           "PROXY tcp4 127.0.0.1 127.0.0.1 1 2\r\n",
           "PROXY UNKNOWN \t\r\n",
           "PROXY \r\n",
           "PROXY  TCP4 127.0.0.1 127.0.0.1 1 2\r\n",
       }) {
    EXPECT_NE(error_of(line), "") << line;
  }
  EXPECT_NE(error_of("PROXY UNKNOWN " + std::string(200, 'x')), "");
  EXPECT_NE(error_of("GET / HTTP/1.1\r\n"), "");
  EXPECT_NE(error_of("proxy TCP4"), "");
}

// RFC 3720 B.4, and the check value that catalogues of CRCs give.
TEST(ProxyVersion2, Crc32cOfPublishedValues) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
}

Header full() {
  Header h;
  h.source = *net::Address::parse("192.0.2.7:40000");
  h.destination = *net::Address::parse("198.51.100.1:443");
  h.alpn = "h2";
  h.authority = "a.test";
  h.unique_id = "0123";
  h.tls = Tls{.client_certificate = true,
              .verified = true,
              .version = "TLSv1.3",
              .cipher = "TLS_AES_128_GCM_SHA256",
              .common_name = "someone",
              .group = "X25519MLKEM768"};
  return h;
}

TEST(ProxyVersion2, WhatIsWrittenIsRead) {
  const std::string text = write_version2(full());
  for (size_t n = 1; n < text.size(); ++n) {
    EXPECT_TRUE(is_incomplete(std::string_view(text).substr(0, n))) << n;
  }
  const auto parsed = good(text + "\x16\x03\x01");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->size, text.size());
  const Header& h = parsed->header;
  EXPECT_EQ(h.source.to_string(), "192.0.2.7:40000");
  EXPECT_EQ(h.destination.to_string(), "198.51.100.1:443");
  EXPECT_EQ(h.alpn, "h2");
  EXPECT_EQ(h.authority, "a.test");
  EXPECT_EQ(h.unique_id, "0123");
  ASSERT_TRUE(h.tls);
  EXPECT_TRUE(h.tls->client_certificate);
  EXPECT_TRUE(h.tls->verified);
  EXPECT_EQ(h.tls->group, "X25519MLKEM768");
  EXPECT_EQ(h.tls->common_name, "someone");
}

// The fixed part, byte by byte (2.2).
TEST(ProxyVersion2, TheBytesOfAnIPv4Header) {
  Header h;
  h.source = *net::Address::parse("127.0.0.1:1");
  h.destination = *net::Address::parse("127.0.0.2:258");
  const std::string text = write_version2(h);
  const std::string expected(
      "\x0d\x0a\x0d\x0a\x00\x0d\x0a\x51\x55\x49\x54\x0a\x21\x11\x00\x13"
      "\x7f\x00\x00\x01\x7f\x00\x00\x02\x00\x01\x01\x02\x03\x00\x04",
      31);
  EXPECT_EQ(text.substr(0, 31), expected);
  EXPECT_EQ(text.size(), 35u);
  h.is_datagram = true;
  EXPECT_EQ(write_version2(h)[13], '\x12');
}

TEST(ProxyVersion2, MixedFamiliesAreWrittenAsIPv6) {
  Header h;
  h.source = *net::Address::parse("192.0.2.1:1");
  h.destination = *net::Address::parse("[2001:db8::1]:2");
  const auto parsed = good(write_version2(h));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->header.source.to_string(), "192.0.2.1:1");
  EXPECT_EQ(parsed->header.destination.to_string(), "[2001:db8::1]:2");
  EXPECT_EQ(write_version1(h), "PROXY UNKNOWN\r\n");
}

TEST(ProxyVersion2, ALocalHeaderTellsNoAddress) {
  Header h = full();
  h.is_local = true;
  std::string text = write_version2(h);
  EXPECT_EQ(text[12], '\x20');
  const auto parsed = good(text);
  ASSERT_TRUE(parsed);
  EXPECT_TRUE(parsed->header.is_local);
  EXPECT_FALSE(parsed->header.source.is_ip());
}

TEST(ProxyVersion2, ContradictionsAreErrors) {
  const std::string text = write_version2(full());
  const auto changed = [&](size_t at, char value) {
    std::string copy = text;
    copy[at] = value;
    return error_of(copy);
  };
  EXPECT_NE(changed(12, '\x31'), "");  // version 3
  EXPECT_NE(changed(12, '\x22'), "");  // an unknown command
  EXPECT_NE(changed(13, '\x41'), "");  // an unknown family
  EXPECT_NE(changed(13, '\x13'), "");  // an unknown transport
  EXPECT_NE(changed(20, '\x01'), "");  // the checksum sees an address that was changed
  EXPECT_NE(changed(15, '\x08'), "");  // shorter than its addresses
  std::string longer = text;
  longer[14] = '\x7f';  // 32 KiB to come
  EXPECT_NE(error_of(longer), "");
  std::string value = text;
  value[29] = '\x7f';  // the first value's length
  EXPECT_NE(error_of(value), "");
}

// A control character in a value never reaches a log or a header.
TEST(ProxyVersion2, TextThatIsNotPrintableIsDropped) {
  Header h = full();
  h.authority = "a.test\r\nX: y";
  h.tls->group = "X25519 ";
  const auto parsed = good(write_version2(h));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->header.authority, "");
  EXPECT_EQ(parsed->header.tls->group, "");
}

}  // namespace
}  // namespace pqedge::proxy_protocol
