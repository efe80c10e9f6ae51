#include "probe/output.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "probe/hello.h"
#include "probe/run.h"

namespace pqedge::probe {
namespace {

Report sample() {
  Report r;
  r.host = "example.org";
  r.port = 443;
  r.address = "192.0.2.1:443";
  r.versions = {{.version = kTls13, .accepted = true, .cipher = 0x1302, .detail = {}}};
  r.groups = {0x11ec, 0x001d};
  r.default_group = 0x11ec;
  ChainReport chain;
  chain.signatures = {0x0905};
  chain.certificates.resize(1);
  chain.certificates[0].subject = "CN=\x1b[31mred\xff";  // a server may send anything
  chain.trust = "self-signed certificate";
  r.chains.push_back(chain);
  return r;
}

TEST(ProbeOutput, JsonCanBeReadBack) {
  const Report report = sample();
  const auto json = nlohmann::json::parse(to_json(report, judge(report)));
  EXPECT_EQ(json["format"], "pqedge-probe-1");
  EXPECT_EQ(json["grade"], "F");
  EXPECT_EQ(json["target"]["port"], 443);
  EXPECT_EQ(json["key_exchange"]["groups"][0]["name"], "X25519MLKEM768");
  EXPECT_EQ(json["key_exchange"]["groups"][0]["post_quantum"], true);
  EXPECT_EQ(json["key_exchange"]["default_group"], "X25519MLKEM768");
  EXPECT_TRUE(json["http"]["quic"]["accepted"]["result"].is_null());
  EXPECT_TRUE(json["http"]["quic"]["group"].is_null());
  EXPECT_EQ(json["certificates"][0]["signature_algorithms"][0], "mldsa65");
  EXPECT_EQ(json["rules"][0]["rule"], "untrusted-certificate");
}

TEST(ProbeOutput, EscapesOnlyOnATerminal) {
  Report report = sample();
  report.chains.clear();
  const Verdict verdict = judge(report);
  EXPECT_EQ(to_text(report, verdict, false).find('\x1b'), std::string::npos);
  EXPECT_NE(to_text(report, verdict, true).find("\x1b[31mF\x1b[0m"), std::string::npos);
  EXPECT_NE(to_text(report, verdict, false).find("grade F"), std::string::npos);
}

TEST(ProbeOutput, Dates) {
  EXPECT_EQ(date_text(0), "1970-01-01");
  EXPECT_EQ(date_text(1796083200), "2026-12-01");
}

TEST(ProbeRun, TheNumberOfConnectionsIsBounded) {
  Options options;
  EXPECT_LE(most_connections(options), kMaxConnections);
  const unsigned all = most_connections(options);
  options.quic = false;
  EXPECT_EQ(most_connections(options), all - 1);
}

}  // namespace
}  // namespace pqedge::probe
