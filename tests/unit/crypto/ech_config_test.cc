// ECHConfigLists and the files that hold them.
#include "crypto/ech_config.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace pqedge::crypto {
namespace {

// As `openssl ech -public_name cover.example` of OpenSSL 4.0.3 has written it.
constexpr std::string_view kPrivate =
    "-----BEGIN PRIVATE KEY-----\n"
    "MC4CAQAwBQYDK2VuBCIEIOCZ0IbWJAReVv/9VqL8UDeMpHp5r3pFg0Hf+fxl7ohq\n"
    "-----END PRIVATE KEY-----\n";
constexpr std::string_view kConfig =
    "-----BEGIN ECHCONFIG-----\n"
    "AED+DQA8+AAgACCfF3MiDvyVY1YejLb0LilSWLxxvqU687aLr5ixT/pSVgAEAAEA\n"
    "AQANY292ZXIuZXhhbXBsZQAA\n"
    "-----END ECHCONFIG-----\n";

std::string both() { return std::string(kPrivate) + std::string(kConfig); }

TEST(EchConfig, ReadsWhatOpenSslWrites) {
  const auto file = parse_ech_key_file(both());
  ASSERT_TRUE(file.has_value()) << file.error().message;
  EXPECT_TRUE(file->has_key);
  ASSERT_EQ(file->configs.size(), 1u);
  const EchConfig& c = file->configs[0];
  EXPECT_EQ(c.id, 0xf8);
  EXPECT_EQ(c.kem, kEchKemX25519);
  EXPECT_EQ(c.public_key.size(), 32u);
  ASSERT_EQ(c.suites.size(), 1u);
  EXPECT_EQ(c.suites[0], std::pair(uint16_t{1}, uint16_t{1}));
  EXPECT_EQ(c.max_name_length, 0);
  EXPECT_EQ(c.public_name, "cover.example");
}

TEST(EchConfig, APublicFileHasNoKey) {
  const auto file = parse_ech_key_file(kConfig);
  ASSERT_TRUE(file.has_value());
  EXPECT_FALSE(file->has_key);
}

TEST(EchConfig, MadeKeysAreReadAgain) {
  const auto pem = make_ech_key("front.example.net", 128);
  ASSERT_TRUE(pem.has_value()) << pem.error().message;
  const auto file = parse_ech_key_file(*pem);
  ASSERT_TRUE(file.has_value()) << file.error().message;
  EXPECT_TRUE(file->has_key);
  EXPECT_EQ(file->configs.at(0).public_name, "front.example.net");
  EXPECT_EQ(file->configs.at(0).max_name_length, 128);
  // What stands in a list is what was read from one.
  const auto again = parse_ech_config_list(as_bytes(ech_config_list(file->configs)));
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->at(0).encoded, file->configs.at(0).encoded);
}

TEST(EchConfig, WrongFilesAreExplained) {
  const auto text = [](const std::string& pem) {
    const auto file = parse_ech_key_file(pem);
    return file ? std::string("good") : file.error().message;
  };
  EXPECT_NE(text("").find("no block \"ECHCONFIG\""), std::string::npos);
  EXPECT_NE(text(std::string(kPrivate)).find("no block \"ECHCONFIG\""), std::string::npos);
  const auto other = make_ech_key("cover.example", 0);
  ASSERT_TRUE(other.has_value());
  const std::string mixed =
      other->substr(0, other->find("-----BEGIN ECHCONFIG")) + std::string(kConfig);
  EXPECT_NE(text(mixed).find("not that of the ECHConfig"), std::string::npos) << text(mixed);
}

TEST(EchConfig, EveryCutOfAListIsRefused) {
  const auto file = parse_ech_key_file(both());
  const std::string list = ech_config_list(file->configs);
  for (size_t size = 0; size < list.size(); ++size) {
    EXPECT_FALSE(parse_ech_config_list(as_bytes(std::string_view(list).substr(0, size)))) << size;
  }
  EXPECT_FALSE(parse_ech_config_list(as_bytes(list + "x")));
}

TEST(EchConfig, OtherVersionsArePassedOver) {
  const auto file = parse_ech_key_file(both());
  EchConfig later;
  later.encoded = std::string("\xfe\x0e\x00\x03xyz", 7);
  const auto read = parse_ech_config_list(as_bytes(ech_config_list({later, file->configs[0]})));
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->size(), 1u);
  EXPECT_FALSE(parse_ech_config_list(as_bytes(ech_config_list({later}))));
}

TEST(EchConfig, PublicNames) {
  EXPECT_EQ(judge_public_name("cover.example"), "");
  for (const char* bad : {"", "192.0.2.1", "a..b", "Cover.example", "a.0x1f", "a.123", "[::1]"}) {
    EXPECT_NE(judge_public_name(bad), "") << bad;
  }
  EXPECT_FALSE(make_ech_key("192.0.2.1", 0));
}

TEST(EchConfig, ZoneLines) {
  HttpsRecord record{.host = "www.example.com", .list = "abc"};
  EXPECT_EQ(zone_line(record), "www.example.com. 3600 IN HTTPS 1 . alpn=\"h3,h2\" ech=\"YWJj\"");
  record = {.host = "www.example.com.", .port = 8443, .ttl = 60, .alpn = {}, .list = "abc"};
  EXPECT_EQ(zone_line(record),
            "_8443._https.www.example.com. 60 IN HTTPS 1 www.example.com. ech=\"YWJj\"");
}

}  // namespace
}  // namespace pqedge::crypto
