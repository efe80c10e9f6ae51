// Hellos as published in RFC 8448, and records cut in every place.
#include "measure/live/messages.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "measure/live/names.h"

namespace pqedge::measure::live {
namespace {

std::string hex(std::string_view text) { return from_hex(text).value(); }

// RFC 8448 3.
constexpr std::string_view kServerHelloHex =
    "020000560303a6af06a4121860dc5e6e60249cd34c95930c8ac5cb1434dac155772ed3e2692800130100002e0033"
    "0024001d0020c9828876112095fe66762bdbf7c672e156d6cc253b833df1dd69b1b04e751f0f002b00020304";
constexpr std::string_view kClientHelloHex =
    "010000c00303cb34ecb1e78163ba1c38c6dacb196a6dffa21a8d9912ec18a2ef6283024dece700000613011303"
    "1302010000910000000b0009000006736572766572ff01000100000a00140012001d00170018001901000101010"
    "20103010400230000003300260024001d002099381de560e4bd43d23d8e435a7dbafeb3c06e51c13cae4d541369"
    "1e529aaf2c002b0003020304000d0020001e040305030603020308040805080604010501060102010402050206"
    "020202002d00020101001c00024001";
// RFC 8448 5: a HelloRetryRequest with a cookie.
constexpr std::string_view kRetryHex =
    "020000ac0303cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c0013010000840033"
    "00020017002c0074007271dcd04bb88bc3189119398a00000000eefafc76c146b823b096f8aacad365dd0030953f"
    "4edf625636e5f21bb2e23fcc654b1b5b40318d10d137abcbb87574e36e8a1f025f7dfa5d6e50781b5eda4aa15b0c"
    "8be778257d16aa3030e9e7841dd9e4c0342267e8ca0caf571fb2b7cff0f934b0002b00020304";

TEST(LiveMessages, ReadsThePublishedServerHello) {
  const auto hello = parse_server_hello(as_bytes(hex(kServerHelloHex)));
  ASSERT_TRUE(hello) << hello.error().message;
  EXPECT_FALSE(hello->retry);
  EXPECT_EQ(hello->version, 0x0304);
  EXPECT_EQ(cipher_suite_name(hello->cipher), "TLS_AES_128_GCM_SHA256");
  EXPECT_EQ(hello->group, 0x001d);
  EXPECT_EQ(hello->share, 32U);
  EXPECT_EQ(hello->session_id, 0U);
}

TEST(LiveMessages, ReadsThePublishedHelloRetryRequest) {
  const auto hello = parse_server_hello(as_bytes(hex(kRetryHex)));
  ASSERT_TRUE(hello) << hello.error().message;
  EXPECT_TRUE(hello->retry);
  EXPECT_EQ(hello->group, 0x0017);
  EXPECT_EQ(hello->share, 0U);
}

TEST(LiveMessages, ReadsThePublishedClientHello) {
  const auto hello = read_client_hello(as_bytes(hex(kClientHelloHex)));
  ASSERT_TRUE(hello) << hello.error().message;
  EXPECT_EQ(hello->size, 196U);
  ASSERT_EQ(hello->shares.size(), 1U);
  EXPECT_EQ(hello->shares[0], std::pair(uint16_t{0x001d}, size_t{32}));
  EXPECT_EQ(hello->groups.front(), 0x001d);
  EXPECT_EQ(hello->padding, 0U);
}

TEST(LiveMessages, CutShortIsAnErrorInEveryPlace) {
  const std::string whole = hex(kServerHelloHex);
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(parse_server_hello(as_bytes(whole).first(size))) << size;
  }
  // A length in the middle that runs past the end.
  std::string broken = whole;
  broken[46] = '\x7f';
  EXPECT_FALSE(parse_server_hello(as_bytes(broken)));
}

TEST(LiveMessages, CountsCertificates) {
  // Two certificates of 3 and 1 bytes, the first with an extension of 2 bytes.
  const auto facts =
      read_certificate(as_bytes(hex("0b000014"
                                    "00"
                                    "000010"
                                    "000003aabbcc"
                                    "00021234"
                                    "000001dd"
                                    "0000")));
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_EQ(facts->count, 2U);
  EXPECT_EQ(facts->der, 4U);
  EXPECT_EQ(facts->leaf, 3U);
  EXPECT_FALSE(
      read_certificate(as_bytes(hex("0b000008"
                                    "00"
                                    "000004"
                                    "000009aa"))));
}

std::string record(uint8_t type, std::string_view body) {
  std::string out{static_cast<char>(type), 3, 3, static_cast<char>(body.size() >> 8),
                  static_cast<char>(body.size())};
  return out + std::string(body);
}

TEST(LiveRecords, FindsMessagesHoweverTheStreamIsCut) {
  const std::string hello = hex(kServerHelloHex);
  // One message over two records; then an encrypted one, whose type is not a handshake's.
  const std::string stream = record(22, std::string_view(hello).substr(0, 10)) +
                             record(22, std::string_view(hello).substr(10)) + record(20, "\x01") +
                             record(23, "sealed") + record(22, "\x02xx");
  for (size_t step = 1; step <= stream.size(); ++step) {
    RecordReader reader;
    for (size_t at = 0; at < stream.size(); at += step) {
      reader.take(as_bytes(std::string_view(stream).substr(at, step)));
    }
    EXPECT_EQ(reader.records(), 5U);
    ASSERT_EQ(reader.messages().size(), 1U) << "in steps of " << step;
    EXPECT_EQ(as_text(reader.messages()[0]), hello);
    EXPECT_FALSE(reader.broken());
    EXPECT_FALSE(reader.alert());
  }
}

TEST(LiveRecords, SeesAnAlertAndWhatIsNoTls) {
  RecordReader alert;
  alert.take(as_bytes(record(21, "\x02\x28")));
  EXPECT_EQ(alert.alert(), 40);
  EXPECT_EQ(alert_name(40), "handshake_failure (40)");

  RecordReader http;
  http.take(as_bytes(std::string_view("HTTP/1.1 400 Bad Request\r\n")));
  EXPECT_TRUE(http.broken());
  EXPECT_TRUE(http.first_bytes().starts_with("HTTP/1.1"));
}

TEST(LiveNames, AreTheRegistries) {
  EXPECT_EQ(group_name(0x11ec), "X25519MLKEM768");
  EXPECT_EQ(group_name(0x7777), "0x7777");
  EXPECT_EQ(signature_scheme_name(0x0905), "mldsa65");
  EXPECT_EQ(signature_scheme_name(0x0403), "ecdsa_secp256r1_sha256");
  EXPECT_EQ(compression_name(2), "brotli");
}

}  // namespace
}  // namespace pqedge::measure::live
