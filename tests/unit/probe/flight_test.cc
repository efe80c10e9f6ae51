// What a server may send first, cut in every place, and what is read out of whole messages.
#include "probe/flight.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace pqedge::probe {
namespace {

std::string hex(std::string_view text) { return from_hex(text).value(); }

// RFC 8448 3, and 5 (a HelloRetryRequest), each in its record.
const std::string kServerHello = hex(
    "160303005a020000560303a6af06a4121860dc5e6e60249cd34c95930c8ac5cb1434dac155772ed3e26928001301"
    "00002e00330024001d0020c9828876112095fe66762bdbf7c672e156d6cc253b833df1dd69b1b04e751f0f002b00"
    "020304");
const std::string kRetry = hex(
    "16030300b0020000ac0303cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c001301"
    "000084003300020017002c0074007271dcd04bb88bc3189119398a00000000eefafc76c146b823b096f8aacad365"
    "dd0030953f4edf625636e5f21bb2e23fcc654b1b5b40318d10d137abcbb87574e36e8a1f025f7dfa5d6e50781b5e"
    "da4aa15b0c8be778257d16aa3030e9e7841dd9e4c0342267e8ca0caf571fb2b7cff0f934b0002b00020304");

TEST(ProbeFlight, ReadsAServerHelloInAnyPieces) {
  for (size_t cut = 0; cut <= kServerHello.size(); ++cut) {
    FlightReader reader;
    const Bytes all = as_bytes(kServerHello);
    bool done = cut > 0 && reader.take(all.first(cut));
    EXPECT_EQ(done, cut == all.size()) << cut;
    if (!done) done = reader.take(all.subspan(cut));
    ASSERT_TRUE(done) << cut;
    EXPECT_EQ(reader.answer().outcome, Outcome::hello);
    EXPECT_EQ(reader.answer().hello.group, 0x001d);
    EXPECT_EQ(reader.answer().hello.version, 0x0304);
  }
}

TEST(ProbeFlight, ReadsAHelloRetryRequest) {
  FlightReader reader;
  ASSERT_TRUE(reader.take(as_bytes(kRetry)));
  EXPECT_EQ(reader.answer().outcome, Outcome::retry);
  EXPECT_TRUE(reader.answer().negotiated());
  EXPECT_EQ(reader.answer().hello.group, 0x0017);
  EXPECT_EQ(reader.answer().hello.cipher, 0x1301);
}

TEST(ProbeFlight, AnAlertIsAnAnswer) {
  FlightReader reader;
  ASSERT_TRUE(reader.take(as_bytes(hex("15030300020228"))));
  EXPECT_EQ(reader.answer().outcome, Outcome::alert);
  EXPECT_EQ(reader.answer().alert, 40);
  EXPECT_EQ(reader.answer().detail, "the alert handshake_failure (40)");
}

TEST(ProbeFlight, AWarningOfTheNameIsNone) {
  FlightReader reader;
  EXPECT_FALSE(reader.take(as_bytes(hex("15030300020170"))));
  ASSERT_TRUE(reader.take(as_bytes(kServerHello)));
  EXPECT_EQ(reader.answer().outcome, Outcome::hello);
  FlightReader ended;
  EXPECT_FALSE(ended.take(as_bytes(hex("15030300020170"))));
  EXPECT_EQ(ended.end(Outcome::closed).outcome, Outcome::alert);
  EXPECT_EQ(ended.end(Outcome::closed).alert, 112);
}

TEST(ProbeFlight, WhatIsNoTlsIsShown) {
  FlightReader reader;
  ASSERT_TRUE(reader.take(as_bytes("HTTP/1.1 400 Bad Request\r\n\r\n")));
  EXPECT_EQ(reader.answer().outcome, Outcome::garbage);
  EXPECT_NE(reader.answer().detail.find("HTTP/1.1 400"), std::string::npos);
}

TEST(ProbeFlight, AnotherMessageOrACutHelloIsGarbage) {
  FlightReader other;
  ASSERT_TRUE(
      other.take(as_bytes(hex("1603030004"
                              "0e000000"))));  // server_hello_done
  EXPECT_EQ(other.answer().outcome, Outcome::garbage);
  std::string cut = kServerHello;
  cut[8] = 0x40;  // the message says that it is shorter than what is in it
  FlightReader reader;
  ASSERT_TRUE(reader.take(as_bytes(cut)));
  EXPECT_EQ(reader.answer().outcome, Outcome::garbage);
}

TEST(ProbeFlight, NoMoreThan64KiBAreTaken) {
  FlightReader reader;
  // A message of 16 MB, in records as they may come.
  std::string record = hex("16030340000200ffff") + std::string(16384 - 4, 'x');
  ASSERT_EQ(record.size(), 5U + 16384U);
  bool done = reader.take(as_bytes(record));
  for (int i = 0; i < 4 && !done; ++i) done = reader.take(as_bytes(record));
  ASSERT_TRUE(done);
  EXPECT_EQ(reader.answer().outcome, Outcome::garbage);
}

TEST(ProbeFlight, EndsWithoutAnAnswer) {
  const FlightReader reader;
  EXPECT_EQ(reader.end(Outcome::timeout).outcome, Outcome::timeout);
  EXPECT_EQ(reader.end(Outcome::closed).outcome, Outcome::closed);
  EXPECT_FALSE(reader.end(Outcome::closed).negotiated());
}

TEST(ProbeFlight, FindsAnExtensionOfEncryptedExtensions) {
  // RFC 8448 3.
  const std::string message =
      hex("080000240022000a00140012001d001700180019010001010102010301040000"
          "0000001c00024001");
  // supported_groups, server_name, record_size_limit
  const auto groups = find_encrypted_extension(as_bytes(message), 10);
  ASSERT_TRUE(groups);
  EXPECT_EQ(groups->size(), 20U);
  EXPECT_FALSE(find_encrypted_extension(as_bytes(message), 0xfe0d));
  for (size_t cut = 0; cut < message.size(); ++cut) {
    EXPECT_FALSE(find_encrypted_extension(as_bytes(message).first(cut), 0xfe0d)) << cut;
  }
}

TEST(ProbeFlight, CountsStapleAndTimestampsOfTheLeaf) {
  // One certificate of 3 bytes; status_request with a response of 5, a list of two SCTs of 2 and 1.
  const std::string entry =
      "000003"
      "aabbcc"
      "0018"
      "0005"
      "0009"
      "01"
      "000005"
      "0102030405"
      "0012"
      "0007"
      "0005"  // the list is cut short: its second entry
      "0002"
      "aaaa"
      "01";
  const std::string body =
      "00"
      "000020" +
      entry;
  const std::string message = hex("0b000024" + body);
  const auto extras = read_certificate_extras(as_bytes(message));
  ASSERT_TRUE(extras) << extras.error().message;
  EXPECT_EQ(extras->staple, 5U);
  EXPECT_EQ(extras->scts, 1U);
  for (size_t cut = 0; cut < message.size(); ++cut) {
    EXPECT_FALSE(read_certificate_extras(as_bytes(message).first(cut))) << cut;
  }
}

TEST(ProbeFlight, ReadsAltSvc) {
  EXPECT_EQ(find_alt_svc("HTTP/1.1 200 OK\r\nServer: x\r\nalt-SVC:  h3=\":8443\"; ma=60\r\n\r\n"),
            "h3=\":8443\"; ma=60");
  EXPECT_EQ(find_alt_svc("HTTP/1.1 200 OK\r\n\r\n"), "");
  EXPECT_EQ(http3_port("h3=\":8443\"; ma=60"), 8443);
  EXPECT_EQ(http3_port("h2=\":443\", h3=\"alt.example:444\""), 444);
  EXPECT_EQ(http3_port("h3-29=\":443\""), 0);
  EXPECT_EQ(http3_port("h3=\""), 0);
  EXPECT_EQ(http3_port("clear"), 0);
}

}  // namespace
}  // namespace pqedge::probe
