#include "route/table.h"

#include <gtest/gtest.h>

#include <format>

#include "base/arena.h"

namespace pqedge::route {
namespace {

RouteSettings route(std::string name, std::vector<std::string> hosts, std::string prefix,
                    std::string exact = {}) {
  RouteSettings r;
  r.name = std::move(name);
  r.hosts = std::move(hosts);
  r.path_prefix = std::move(prefix);
  r.path = std::move(exact);
  r.pool = "p";
  return r;
}

Table compiled(std::vector<RouteSettings> routes) {
  auto table = Table::compile(std::move(routes));
  EXPECT_TRUE(table.has_value()) << (table ? "" : table.error().message);
  return table ? std::move(*table) : Table();
}

std::string name_of(const Table& table, std::string_view host, std::string_view path) {
  const Route* r = table.match(host, path);
  return r == nullptr ? "none" : r->settings.name;
}

TEST(RouteTable, AnEmptyTableTakesNothing) {
  EXPECT_EQ(name_of(Table(), "a.test", "/"), "none");
  EXPECT_EQ(name_of(compiled({}), "a.test", "/"), "none");
}

TEST(RouteTable, ExactHostBeforeWildcardBeforeAny) {
  const Table t = compiled({route("any", {}, ""), route("wild", {"*.a.test"}, ""),
                            route("deep", {"*.b.a.test"}, ""), route("exact", {"x.b.a.test"}, "")});
  EXPECT_EQ(name_of(t, "x.b.a.test", "/"), "exact");
  EXPECT_EQ(name_of(t, "y.b.a.test", "/"), "deep");
  EXPECT_EQ(name_of(t, "z.y.b.a.test", "/"), "deep");
  EXPECT_EQ(name_of(t, "b.a.test", "/"), "wild");
  EXPECT_EQ(name_of(t, "c.a.test", "/"), "wild");
  EXPECT_EQ(name_of(t, "a.test", "/"), "any") << "the star stands for one or more labels";
  EXPECT_EQ(name_of(t, "xa.test", "/"), "any") << "a wildcard ends at a label's border";
  EXPECT_EQ(name_of(t, "", "/"), "any");
  EXPECT_EQ(name_of(t, ".a.test", "/"), "any") << "the star stands for at least one byte";
}

TEST(RouteTable, ExactPathThenTheLongestPrefixOnSegmentBorders) {
  const Table t =
      compiled({route("all", {}, "/"), route("api", {}, "/api"), route("below", {}, "/api/"),
                route("v1", {}, "/api/v1"), route("exact", {}, "", "/api/v1/users"),
                route("slash", {}, "", "/api/v1/users/")});
  EXPECT_EQ(name_of(t, "h", "/"), "all");
  EXPECT_EQ(name_of(t, "h", "/ap"), "all");
  EXPECT_EQ(name_of(t, "h", "/apix"), "all");
  EXPECT_EQ(name_of(t, "h", "/api"), "api");
  EXPECT_EQ(name_of(t, "h", "/api/"), "below");
  EXPECT_EQ(name_of(t, "h", "/api/x"), "below");
  EXPECT_EQ(name_of(t, "h", "/api/v1"), "v1");
  EXPECT_EQ(name_of(t, "h", "/api/v1/x/y"), "v1");
  EXPECT_EQ(name_of(t, "h", "/api/v1/users"), "exact");
  EXPECT_EQ(name_of(t, "h", "/api/v1/users/"), "slash");
  EXPECT_EQ(name_of(t, "h", "/api/v1/users/7"), "v1");
}

TEST(RouteTable, AHostWithoutAMatchingPathFallsBackToLessSpecificHosts) {
  const Table t = compiled({route("challenge", {}, "/.well-known/acme-challenge"),
                            route("wild", {"*.test"}, "/w"), route("site", {"a.test"}, "/site")});
  EXPECT_EQ(name_of(t, "a.test", "/site/x"), "site");
  EXPECT_EQ(name_of(t, "a.test", "/w"), "wild");
  EXPECT_EQ(name_of(t, "a.test", "/.well-known/acme-challenge/x"), "challenge");
  EXPECT_EQ(name_of(t, "a.test", "/other"), "none");
}

TEST(RouteTable, AMoreSpecificHostWinsOverAMoreSpecificPath) {
  const Table t = compiled({route("path", {}, "", "/a/b/c"), route("host", {"a.test"}, "")});
  EXPECT_EQ(name_of(t, "a.test", "/a/b/c"), "host");
  EXPECT_EQ(name_of(t, "b.test", "/a/b/c"), "path");
}

TEST(RouteTable, TargetsWithoutAPathMeetRoutesForEveryPath) {
  // OPTIONS * (RFC 9112 3.2.4) and CONNECT have no path.
  const Table t = compiled({route("all", {"a.test"}, "/"), route("some", {"b.test"}, "/x")});
  EXPECT_EQ(name_of(t, "a.test", "*"), "all");
  EXPECT_EQ(name_of(t, "a.test", ""), "all");
  EXPECT_EQ(name_of(t, "b.test", "*"), "none");
}

TEST(RouteTable, HostsAreConfiguredInAnyCase) {
  const Table t = compiled({route("a", {"WWW.A.test"}, ""), route("w", {"*.B.Test"}, "")});
  EXPECT_EQ(name_of(t, "www.a.test", "/"), "a");
  EXPECT_EQ(name_of(t, "x.b.test", "/"), "w");
}

TEST(RouteTable, AddressLiteralsAreHosts) {
  const Table t = compiled({route("v6", {"[2001:db8::1]"}, ""), route("v4", {"192.0.2.1"}, "")});
  EXPECT_EQ(name_of(t, "[2001:db8::1]", "/"), "v6");
  EXPECT_EQ(name_of(t, "192.0.2.1", "/"), "v4");
  EXPECT_EQ(name_of(t, "192.0.2.2", "/"), "none");
}

TEST(RouteTable, ManyRoutesKeepTheirOwnRequests) {
  std::vector<RouteSettings> routes;
  for (int i = 0; i < 2000; ++i) {
    routes.push_back(route(std::format("r{}", i), {std::format("h{}.test", i % 50)},
                           std::format("/s{}/t{}", i / 50, i)));
  }
  const Table t = compiled(routes);
  for (int i = 0; i < 2000; ++i) {
    const std::string host = std::format("h{}.test", i % 50);
    EXPECT_EQ(name_of(t, host, std::format("/s{}/t{}/below", i / 50, i)), std::format("r{}", i));
    EXPECT_EQ(name_of(t, host, std::format("/s{}/t{}x", i / 50, i)), "none");
  }
}

TEST(RouteTable, HostileHostsAndPathsAreOnlyStrings) {
  const Table t = compiled({route("wild", {"*.a.test"}, "/x"), route("any", {}, "")});
  const std::string dots(10'000, '.');
  const std::string slashes(10'000, '/');
  EXPECT_EQ(name_of(t, dots, slashes), "any");
  EXPECT_EQ(name_of(t, dots + "a.test", "/x"), "wild");
  EXPECT_EQ(name_of(t, std::string("\0.a.test", 8), std::string("/x\0", 3)), "any");
}

TEST(RouteTable, MovesWithItsIndex) {
  Table a = compiled({route("one", {"a.test"}, "/some/path/that/is/longer/than/a/small/string")});
  const Table b = std::move(a);
  EXPECT_EQ(name_of(b, "a.test", "/some/path/that/is/longer/than/a/small/string/x"), "one");
  EXPECT_EQ(b.match("a.test", "/some/path/that/is/longer/than/a/small/string")->index, 0u);
}

TEST(RouteTable, LooksAtTheCanonicalHostAndPathOfARequest) {
  const Table t = compiled({route("a", {"a.test"}, "/x")});
  Arena arena;
  http::Request request(arena);
  request.host = "a.test";
  request.path = "/x/y";
  request.target = "/other";
  request.authority = "b.test";
  ASSERT_NE(t.match(Subject{request, "192.0.2.1"}), nullptr);
}

TEST(RouteTable, RefusesWhatDoesNotValidate) {
  const auto table = Table::compile({route("a", {"a.test"}, "/x"), route("b", {"a.test"}, "/x")});
  ASSERT_FALSE(table.has_value());
  EXPECT_NE(table.error().message.find("can never be reached"), std::string::npos);
}

}  // namespace
}  // namespace pqedge::route
