#include "probe/options.h"

#include <gtest/gtest.h>

namespace pqedge::probe {
namespace {

TEST(ProbeOptions, ReadsTargets) {
  struct {
    const char* text;
    const char* host;
    uint16_t port;
  } const cases[] = {
      {"example.org", "example.org", 443},   {"example.org:8443", "example.org", 8443},
      {"192.0.2.1:1", "192.0.2.1", 1},       {"[2001:db8::1]:65535", "2001:db8::1", 65535},
      {"[2001:db8::1]", "2001:db8::1", 443}, {"2001:db8::1", "2001:db8::1", 443},
  };
  for (const auto& c : cases) {
    Options options;
    ASSERT_TRUE(set_target(options, c.text)) << c.text;
    EXPECT_EQ(options.host, c.host);
    EXPECT_EQ(port_of(options), c.port);
  }
}

TEST(ProbeOptions, RefusesWhatIsNoTarget) {
  for (const char* text : {"", ":443", "host:", "host:0", "host:65536", "host:x", "[::1", "[::1]x",
                           "[::1]:", "https://host/", "host/path"}) {
    Options options;
    EXPECT_FALSE(set_target(options, text)) << text;
  }
}

TEST(ProbeOptions, TheServerNameIsNoAddress) {
  Options options;
  options.host = "example.org";
  EXPECT_EQ(server_name(options), "example.org");
  options.host = "192.0.2.1";
  EXPECT_EQ(server_name(options), "");
  options.host = "2001:db8::1";
  EXPECT_EQ(server_name(options), "");
  options.sni = "example.net";
  EXPECT_EQ(server_name(options), "example.net");
}

TEST(ProbeOptions, PortsOfProtocols) {
  Options options;
  options.starttls = StartTls::smtp;
  EXPECT_EQ(port_of(options), 25);
  options.starttls = StartTls::imap;
  EXPECT_EQ(port_of(options), 143);
  EXPECT_TRUE(parse_starttls("smtp"));
  EXPECT_FALSE(parse_starttls("ftp"));
}

}  // namespace
}  // namespace pqedge::probe
