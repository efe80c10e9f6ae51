#include "crypto/server_name.h"

#include <gtest/gtest.h>

namespace pqedge::crypto {
namespace {

TEST(ServerName, HostsAreLowerCase) {
  const std::pair<std::string, std::string> hosts[] = {
      {"example.org", "example.org"},
      {"EXAMPLE.Org", "example.org"},
      {"example.org.", "example.org"},
      {"localhost", "localhost"},
      {"a_b.example", "a_b.example"},
      {"xn--bcher-kva.example", "xn--bcher-kva.example"},
      {"-odd-.example", "-odd-.example"},
      {"1.example", "1.example"},
      {std::string(63, 'a') + ".x", std::string(63, 'a') + ".x"},
  };
  for (const auto& [sent, expected] : hosts) {
    std::string lower = "before";
    EXPECT_EQ(judge_server_name(sent, lower), NameVerdict::host) << sent;
    EXPECT_EQ(lower, expected);
  }
}

TEST(ServerName, IpLiteralsAreNoNames) {  // RFC 6066 3
  for (const char* sent : {"127.0.0.1", "::1", "[::1]", "2001:db8::1", "::ffff:192.0.2.1"}) {
    std::string lower = "before";
    EXPECT_EQ(judge_server_name(sent, lower), NameVerdict::ip_literal) << sent;
    EXPECT_EQ(lower, "");
  }
}

TEST(ServerName, TheRestIsRefused) {
  const std::string names[] = {
      "",
      ".",
      "..",
      ".a",
      "a..b",
      "a b",
      "a/b",
      "a:443",
      "*.example.org",
      "b\xc3\xbc"
      "cher.example",
      std::string("a\0b", 3),
      std::string("127.0.0.1\0", 10),
      "a\x7f",
      "a\n",
      std::string(64, 'a') + ".x",
      std::string(254, 'a'),
      std::string(70'000, 'a'),
  };
  for (const std::string& sent : names) {
    std::string lower = "before";
    EXPECT_EQ(judge_server_name(sent, lower), NameVerdict::malformed) << sent.substr(0, 80);
    EXPECT_EQ(lower, "");
  }
}

TEST(ServerName, LengthOfTheWholeName) {  // RFC 1035 3.1
  std::string longest;
  while (longest.size() < 250) longest += "abcdefghi.";
  longest += "abc";
  ASSERT_EQ(longest.size(), 253u);
  std::string lower;
  EXPECT_EQ(judge_server_name(longest, lower), NameVerdict::host);
  EXPECT_EQ(judge_server_name(longest + ".", lower), NameVerdict::host);
  EXPECT_EQ(judge_server_name(longest + "d", lower), NameVerdict::malformed);
}

}  // namespace
}  // namespace pqedge::crypto
