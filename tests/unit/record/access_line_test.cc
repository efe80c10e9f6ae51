#include "record/access_line.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <vector>

namespace pqedge::record {
namespace {

std::string line_of(const AccessRecord& record) {
  std::vector<uint8_t> packed(packed_size(record));
  pack(record, packed.data());
  std::string out;
  append_access_line(out, packed);
  return out;
}

AccessRecord usual() {
  AccessRecord r;
  r.time = 1'796'050'862'345'678'901;  // 2026-11-30T15:01:02.345Z, by date -u -d @1796050862
  r.request_id = "0123456789abcdef";
  r.client = "192.0.2.1";
  r.client_port = 50123;
  r.listener = "https";
  r.tls_version = "TLSv1.3";
  r.group = "X25519MLKEM768";
  r.cipher = "TLS_AES_256_GCM_SHA384";
  r.sni = "a.test";
  r.signature = "mldsa65";
  r.resumed = true;
  r.early_data = true;
  r.hello_retry = true;
  r.handshake = 1'234'567;
  r.handshake_in = 1'500;
  r.handshake_out = 17'000;
  r.http_version = "HTTP/3";
  r.method = "GET";
  r.host = "a.test";
  r.path = "/a%20b?x=1";
  r.status = 200;
  r.bytes_in = 321;
  r.bytes_out = 1'000'000'000'000;
  r.duration = 12'345'678;
  r.connect = 1'000;
  r.first_byte = 9'999'999;
  r.route = "api";
  r.pool = "app";
  r.backend = "127.0.0.1:9000";
  r.tries = 3;
  r.user_agent = "curl/8.21";
  r.reason = "";
  return r;
}

TEST(AccessLine, IsOneJsonObjectWithEveryField) {
  const std::string line = line_of(usual());
  ASSERT_TRUE(line.ends_with("}\n"));
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const auto j = nlohmann::json::parse(line);
  EXPECT_EQ(j["time"], "2026-11-30T15:01:02.345Z");
  EXPECT_EQ(j["request_id"], "0123456789abcdef");
  EXPECT_EQ(j["client"], "192.0.2.1");
  EXPECT_EQ(j["client_port"], 50123);
  EXPECT_EQ(j["listener"], "https");
  EXPECT_EQ(j["tls_version"], "TLSv1.3");
  EXPECT_EQ(j["group"], "X25519MLKEM768");
  EXPECT_EQ(j["cipher"], "TLS_AES_256_GCM_SHA384");
  EXPECT_EQ(j["sni"], "a.test");
  EXPECT_EQ(j["signature"], "mldsa65");
  EXPECT_EQ(j["resumed"], true);
  EXPECT_EQ(j["early_data"], true);
  EXPECT_EQ(j["hello_retry"], true);
  EXPECT_DOUBLE_EQ(j["handshake_ms"].get<double>(), 1.234);
  EXPECT_EQ(j["handshake_bytes_in"], 1'500);
  EXPECT_EQ(j["handshake_bytes_out"], 17'000);
  EXPECT_EQ(j["http_version"], "HTTP/3");
  EXPECT_EQ(j["method"], "GET");
  EXPECT_EQ(j["host"], "a.test");
  EXPECT_EQ(j["path"], "/a%20b?x=1");
  EXPECT_EQ(j["status"], 200);
  EXPECT_EQ(j["bytes_in"], 321);
  EXPECT_EQ(j["bytes_out"], 1'000'000'000'000);
  EXPECT_DOUBLE_EQ(j["duration_ms"].get<double>(), 12.345);
  EXPECT_DOUBLE_EQ(j["connect_ms"].get<double>(), 0.001);
  EXPECT_DOUBLE_EQ(j["first_byte_ms"].get<double>(), 9.999);
  EXPECT_EQ(j["route"], "api");
  EXPECT_EQ(j["pool"], "app");
  EXPECT_EQ(j["backend"], "127.0.0.1:9000");
  EXPECT_EQ(j["tries"], 3);
  EXPECT_EQ(j["user_agent"], "curl/8.21");
  EXPECT_EQ(j["reason"], "");
  EXPECT_EQ(j.size(), 34u);
}

TEST(AccessLine, TimesThatNeverCameAreNull) {
  AccessRecord r = usual();
  r.connect = r.first_byte = kNever;
  const auto j = nlohmann::json::parse(line_of(r));
  EXPECT_TRUE(j["connect_ms"].is_null());
  EXPECT_TRUE(j["first_byte_ms"].is_null());
}

TEST(AccessLine, AnEmptyRecordIsValid) {
  const auto j = nlohmann::json::parse(line_of({}));
  EXPECT_EQ(j["time"], "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(j["status"], 0);
}

// K67: whatever a client sends, the line stays one line of valid UTF-8 JSON (S13).
TEST(AccessLine, NoByteOfAClientBreaksTheLine) {
  std::vector<std::string> hostile = {"\r\n{\"forged\":1}", "\x1b[31m",        "\xff\xfe",
                                      "\xc2\x85",           "\xe2\x80\xa8",    "\"\\",
                                      "\xed\xa0\x80",       "\xf0\x9f\x92",    "\xc0\xaf",
                                      std::string("\0", 1), "b\xc3\xbc\x63her"};
  for (int b = 0; b < 256; ++b) hostile.push_back(std::string(1, static_cast<char>(b)));
  for (const std::string& text : hostile) {
    AccessRecord r = usual();
    r.path = r.sni = r.host = r.user_agent = r.method = r.client = r.request_id = text;
    r.reason = r.backend = text;
    const std::string line = line_of(r);
    ASSERT_TRUE(nlohmann::json::accept(line)) << line;
    EXPECT_EQ(line.find('\n'), line.size() - 1);
    for (const char c : line.substr(0, line.size() - 1)) {
      EXPECT_GE(static_cast<uint8_t>(c), 0x20) << line;
      EXPECT_NE(c, 0x7f) << line;
    }
    EXPECT_EQ(line.find("\xc2\x85"), std::string::npos);
  }
}

TEST(AccessLine, LongTextsAreCutWithTheirLength) {
  AccessRecord r = usual();
  const std::string path = "/" + std::string(9'999, 'x');
  const std::string agent(3'000, 'y');
  r.path = path;
  r.user_agent = agent;
  const auto j = nlohmann::json::parse(line_of(r));
  EXPECT_EQ(j["path"], path.substr(0, 2048) + "...(10000 bytes)");
  EXPECT_EQ(j["user_agent"], agent.substr(0, 512) + "...(3000 bytes)");
  EXPECT_EQ(j["reason"], "");
}

TEST(AccessLine, ACutInsideACharacterIsStillUtf8) {
  AccessRecord r = usual();
  const std::string path = std::string(2047, 'x') + "\xc3\xbc" + "tail";
  r.path = path;
  const std::string line = line_of(r);
  ASSERT_TRUE(nlohmann::json::accept(line));
  EXPECT_EQ(nlohmann::json::parse(line)["path"],
            path.substr(0, 2047) + "\xef\xbf\xbd" + "...(2053 bytes)");
}

}  // namespace
}  // namespace pqedge::record
