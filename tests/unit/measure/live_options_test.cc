#include "measure/live/options.h"

#include <gtest/gtest.h>

namespace pqedge::measure::live {
namespace {

TEST(LiveOptions, ReadsTargets) {
  struct Case {
    const char* text;
    const char* host;
    uint16_t port;
  };
  for (const Case& c :
       {Case{"example.org", "example.org", 443}, Case{"example.org:8443", "example.org", 8443},
        Case{"192.0.2.1:22", "192.0.2.1", 22}, Case{"[2001:db8::1]:444", "2001:db8::1", 444},
        Case{"[2001:db8::1]", "2001:db8::1", 443}, Case{"2001:db8::1", "2001:db8::1", 443}}) {
    Options options;
    ASSERT_TRUE(set_target(options, c.text)) << c.text;
    EXPECT_EQ(options.host, c.host) << c.text;
    EXPECT_EQ(port_of(options), c.port) << c.text;
  }
  for (const char* bad : {"", ":443", "host:", "host:0", "host:65536", "host:https", "[::1",
                          "[::1]x", "[::1]:", "https://host/"}) {
    Options options;
    EXPECT_FALSE(set_target(options, bad)) << bad;
  }
}

TEST(LiveOptions, ProtocolsHaveTheirPorts) {
  Options options;
  options.transport = Transport::kSsh;
  EXPECT_EQ(port_of(options), 22);
  options.transport = Transport::kTls;
  options.starttls = parse_starttls("postgres").value();
  EXPECT_EQ(port_of(options), 5432);
  EXPECT_FALSE(parse_starttls("ftp"));
}

TEST(LiveOptions, RefusesWhatCannotWorkTogether) {
  Options options;
  options.host = "h";
  EXPECT_TRUE(validate(options));
  options.certificate = "c.pem";
  EXPECT_FALSE(validate(options));
  options.key = "k.pem";
  EXPECT_TRUE(validate(options));
  options.transport = Transport::kSsh;
  EXPECT_FALSE(validate(options));
  options = {};
  options.host = "h";
  options.transport = Transport::kQuic;
  options.starttls = StartTls::kSmtp;
  EXPECT_FALSE(validate(options));
}

}  // namespace
}  // namespace pqedge::measure::live
