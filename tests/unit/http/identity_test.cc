#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/text.h"
#include "http/node.h"
#include "http/rules.h"
#include "unit/http/support.h"

namespace pqedge::http {
namespace {

IdentitySettings trusting(std::initializer_list<std::string_view> networks) {
  IdentitySettings s;
  for (const std::string_view n : networks) s.trusted_proxies.push_back(*net::Network::parse(n));
  return s;
}

struct Who {
  std::string client;
  bool trusted;
};

Who who(const FieldList& fields, std::string_view peer = "192.0.2.7:5000") {
  Arena arena;
  const Request r = make_request(arena, fields);
  const Identity i = identify(r, facts_of(peer), trusting({"192.0.2.0/24", "2001:db8:1::/48"}));
  return {std::string(i.client_ip), i.trusted_peer};
}

TEST(Identify, AnUntrustedPeerIsTheClient) {
  const Who w =
      who({{"X-Forwarded-For", "6.6.6.6"}, {"Forwarded", "for=6.6.6.6"}}, "203.0.113.9:1");
  EXPECT_EQ(w.client, "203.0.113.9");
  EXPECT_FALSE(w.trusted);
}

TEST(Identify, TheListIsWalkedFromTheRightPastTrustedNetworks) {
  EXPECT_EQ(who({}).client, "192.0.2.7");
  EXPECT_TRUE(who({}).trusted);
  EXPECT_EQ(who({{"X-Forwarded-For", "203.0.113.5"}}).client, "203.0.113.5");
  // The left end is the client's own word.
  EXPECT_EQ(who({{"X-Forwarded-For", "6.6.6.6, 203.0.113.5"}}).client, "203.0.113.5");
  EXPECT_EQ(who({{"X-Forwarded-For", "6.6.6.6, 203.0.113.5, 192.0.2.50 ,192.0.2.51"}}).client,
            "203.0.113.5");
  EXPECT_EQ(who({{"X-Forwarded-For", "6.6.6.6"}, {"X-Forwarded-For", "203.0.113.5"}}).client,
            "203.0.113.5");
  EXPECT_EQ(who({{"X-Forwarded-For", "192.0.2.60, 192.0.2.61"}}).client, "192.0.2.60");
  EXPECT_EQ(who({{"X-Forwarded-For", "2001:DB8:2::5, [2001:db8:1::9]:443"}}).client,
            "2001:db8:2::5");
  EXPECT_EQ(who({{"X-Forwarded-For", "203.0.113.5:4711"}}, "[2001:db8:1::1]:5").client,
            "203.0.113.5");
}

TEST(Identify, AHopThatNamesNobodyEndsTheWalk) {
  EXPECT_EQ(who({{"X-Forwarded-For", "203.0.113.5, unknown, 192.0.2.50"}}).client, "192.0.2.50");
  EXPECT_EQ(who({{"X-Forwarded-For", "203.0.113.5, x"}}).client, "192.0.2.7");
  std::string many;
  for (int i = 0; i < 100; ++i) many += "192.0.2.1,";
  EXPECT_EQ(who({{"X-Forwarded-For", many + "203.0.113.5"}}).client, "192.0.2.7");
}

// The examples of RFC 7239 4, and what a client may put before a proxy's element.
TEST(Identify, ForwardedIsRead) {
  EXPECT_EQ(who({{"Forwarded", "for=198.51.100.60;proto=http;by=203.0.113.43"}}).client,
            "198.51.100.60");
  EXPECT_EQ(who({{"Forwarded", "For=\"[2001:db8:cafe::17]:4711\""}}).client, "2001:db8:cafe::17");
  EXPECT_EQ(who({{"Forwarded", "for=6.6.6.6, for=198.51.100.17"}}).client, "198.51.100.17");
  EXPECT_EQ(who({{"Forwarded", "for=6.6.6.6"}, {"Forwarded", "for=198.51.100.17 , for=192.0.2.9"}})
                .client,
            "198.51.100.17");
  EXPECT_EQ(who({{"Forwarded", "proto=https;for=198.51.100.17;host=\"a,b;for=6.6.6.6\""}}).client,
            "198.51.100.17");
  EXPECT_EQ(who({{"Forwarded", "for=\"_gazonk\""}}).client, "192.0.2.7");
  EXPECT_EQ(who({{"Forwarded", "for=unknown, for=192.0.2.9"}}).client, "192.0.2.9");
  EXPECT_EQ(who({{"Forwarded", ";;for=198.51.100.17;,"}}).client, "198.51.100.17");
}

TEST(Identify, AMalformedForwardedTellsNothing) {
  for (const char* value :
       {"for=6.6.6.6;x=\", for=198.51.100.17", "for=\"198.51.100.17", "for=198.51.100.17=x",
        "for =198.51.100.17", "for= 198.51.100.17", "for", "for=", "=x", "for=\"198.51.100.17\"x",
        "for=198.51.100.17;for=6.6.6.6", "for=198.51.100.17 x",
        "for=2001:db8::1 ;=", "for=\"\\198.51.100.17"}) {
    EXPECT_EQ(who({{"Forwarded", value}}).client, "192.0.2.7") << value;
  }
}

TEST(Identify, XForwardedForIsLookedAtFirst) {
  EXPECT_EQ(who({{"Forwarded", "for=6.6.6.6"}, {"X-Forwarded-For", "203.0.113.5"}}).client,
            "203.0.113.5");
}

TEST(Identify, Nodes) {  // RFC 7239 6
  const auto node = [](std::string_view text) {
    const auto a = parse_node(text);
    return a ? a->ip() : std::string("none");
  };
  EXPECT_EQ(node("192.0.2.1"), "192.0.2.1");
  EXPECT_EQ(node("192.0.2.1:_hidden"), "192.0.2.1");
  EXPECT_EQ(node("[2001:db8::1]:65535"), "2001:db8::1");
  EXPECT_EQ(node("::ffff:192.0.2.1"), "192.0.2.1");
  for (const char* bad :
       {"", "unknown", "_secret", "192.0.2.1:", "192.0.2.1:65536", "192.0.2.1:x", "[192.0.2.1]",
        "[2001:db8::1", "[2001:db8::1]x", "[2001:db8::1]:", "fe80::1%1", "a.test", "192.0.2.1 "}) {
    EXPECT_EQ(node(bad), "none") << bad;
  }
}

std::string request_id(std::string_view theirs, std::string_view peer) {
  Arena arena;
  const Request r = make_request(arena, {{"X-Request-ID", theirs}});
  return std::string(identify(r, facts_of(peer), trusting({"192.0.2.0/24"})).request_id);
}

TEST(Identify, RequestIdsAreTakenFromTrustedPeersOnly) {
  EXPECT_EQ(request_id("abc.DEF-1", "192.0.2.7:1"), "abc.DEF-1");
  EXPECT_NE(request_id("abc.DEF-1", "203.0.113.9:1"), "abc.DEF-1");
  EXPECT_EQ(request_id(std::string(128, 'a'), "192.0.2.7:1"), std::string(128, 'a'));
  for (const std::string& bad : {std::string(129, 'a'), std::string(), std::string("a b"),
                                 std::string("a\"b"), std::string("\xff"), std::string("a,b")}) {
    EXPECT_NE(request_id(bad, "192.0.2.7:1"), bad);
  }
}

TEST(Identify, RequestIdsAreMadeUnlikeEachOther) {
  std::set<std::string> seen;
  for (int i = 0; i < 10'000; ++i) {
    const std::string id = request_id("", "203.0.113.9:1");
    ASSERT_EQ(id.size(), 32u);
    ASSERT_TRUE(from_hex(id).has_value());
    ASSERT_EQ(to_lower(id), id);
    ASSERT_TRUE(seen.insert(id).second);
  }
}

}  // namespace
}  // namespace pqedge::http
