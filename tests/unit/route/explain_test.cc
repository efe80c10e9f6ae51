#include "route/explain.h"

#include <gtest/gtest.h>

#include <format>
#include <random>

#include "base/arena.h"

namespace pqedge::route {
namespace {

using Kind = ValueMatch::Kind;

RouteSettings route(std::string name) {
  RouteSettings r;
  r.name = std::move(name);
  r.pool = "p";
  return r;
}

Table compiled(std::vector<RouteSettings> routes) {
  auto table = Table::compile(std::move(routes));
  EXPECT_TRUE(table.has_value()) << (table ? "" : table.error().message);
  return table ? std::move(*table) : Table();
}

struct Made {
  Arena arena;
  http::Request request{arena};
  Made(std::string_view host, std::string_view path, std::string_view method = "GET") {
    request.host = host;
    request.path = path;
    request.method_text = method;
    request.method = http::parse_method(method);
  }
  Subject subject() const { return {request, "192.0.2.1"}; }
};

TEST(RouteExplain, SaysWhatEachRouteLacks) {
  RouteSettings host = route("host");
  host.hosts = {"b.test"};
  RouteSettings path = route("path");
  path.path = "/x";
  RouteSettings prefix = route("prefix");
  prefix.path_prefix = "/y";
  RouteSettings pattern = route("pattern");
  pattern.path_regex = "/[0-9]+";
  RouteSettings post = route("post");
  post.methods = {"POST"};
  const Table t = compiled({host, path, prefix, pattern, post, route("all")});
  const Made made("a.test", "/a");
  const auto c = explain(t, made.subject());
  ASSERT_EQ(c.size(), 6u);
  EXPECT_TRUE(c[0].taken);
  EXPECT_EQ(c[0].route->settings.name, "all");
  EXPECT_EQ(c[1].why, "the host \"a.test\" is none of its hosts (b.test)");
  EXPECT_EQ(c[2].why, "its path is \"/x\"");
  EXPECT_EQ(c[3].why, "the path is not at or below its prefix \"/y\"");
  EXPECT_EQ(c[4].why, "its pattern \"/[0-9]+\" does not match the path");
  EXPECT_EQ(c[5].why, "the method \"GET\" is not one of its methods");
}

TEST(RouteExplain, SaysWhatGoesBeforeARouteThatMatches) {
  RouteSettings wild = route("wild");
  wild.hosts = {"*.test"};
  RouteSettings api = route("api");
  api.hosts = {"a.test"};
  api.path_prefix = "/api";
  RouteSettings get = api;
  get.name = "get";
  get.methods = {"GET"};
  RouteSettings exact = api;
  exact.name = "exact";
  exact.path_prefix.clear();
  exact.path = "/api/v1";
  const Table t = compiled({wild, api, get, exact});
  const Made made("a.test", "/api/v1");
  const auto c = explain(t, made.subject());
  EXPECT_EQ(c[0].route->settings.name, "exact");
  EXPECT_EQ(c[1].why, "it matches, but \"exact\" goes before it: its path is exact");
  EXPECT_EQ(c[1].route->settings.name, "get");
  EXPECT_EQ(c[2].route->settings.name, "api");
  EXPECT_EQ(c[3].why, "it matches, but \"exact\" goes before it: its host is more specific");
}

// The look-up and the account of it are written apart: they have to agree on everything.
TEST(RouteExplain, AgreesWithTheLookUpOnRandomRoutes) {
  std::mt19937 random(20240813);
  const auto pick = [&](auto list) { return std::data(list)[random() % std::size(list)]; };
  const auto one_in = [&](unsigned n) { return random() % n == 0; };
  using Texts = std::vector<std::string>;
  const Texts hosts = {"a.test", "b.test", "x.a.test", "*.a.test", "*.test", "*.x.a.test"};
  const Texts paths = {"/", "/a", "/a/", "/a/b", "/a/b/", "/b", "/a/b/c"};
  const Texts patterns = {"/a.*", "/[ab]", "/.*/b", "/a/b/c"};
  size_t taken = 0;
  size_t tables = 0;
  for (int round = 0; round < 600; ++round) {
    std::vector<RouteSettings> routes;
    for (size_t i = 0; i < 1 + random() % 9; ++i) {
      RouteSettings r = route(std::format("r{}", i));
      if (!one_in(3)) r.hosts = {pick(hosts)};
      if (one_in(4)) {
        r.path = pick(paths);
      } else if (one_in(4)) {
        r.path_regex = pick(patterns);
      } else if (!one_in(3)) {
        r.path_prefix = pick(paths);
      }
      if (one_in(3)) r.methods = {pick(Texts{"GET", "POST"})};
      if (one_in(4)) r.headers = {{"x", pick(std::vector{Kind::present, Kind::absent}), ""}};
      if (one_in(5)) r.query = {{"q", Kind::exact, pick(Texts{"1", "2"})}};
      if (one_in(5)) r.clients = {*net::Network::parse(pick(Texts{"192.0.2.0/24", "10.0.0.0/8"}))};
      if (one_in(4)) r.priority = static_cast<uint32_t>(random() % 3);
      std::vector<RouteSettings> more = routes;
      more.push_back(r);
      if (Table::compile(more)) routes = std::move(more);  // else it could never be reached
    }
    const Table table = compiled(routes);
    ++tables;
    for (int i = 0; i < 40; ++i) {
      const std::string host =
          pick(Texts{"a.test", "b.test", "x.a.test", "y.x.a.test", "c", "test"});
      const std::string path =
          pick(Texts{"/", "/a", "/a/", "/a/b", "/a/b/", "/a/b/c", "/ab", "/b", "/b/b", "*", ""});
      Made made(host, path, pick(std::vector<const char*>{"GET", "POST"}));
      if (one_in(2)) made.request.fields.add("x", "1");
      made.request.query = pick(std::vector<const char*>{"", "q=1", "q=2"});
      const Route* found = table.match(made.subject());
      const auto account = explain(table, made.subject());
      const Route* said = !account.empty() && account[0].taken ? account[0].route : nullptr;
      ASSERT_EQ(found == nullptr ? "none" : found->settings.name,
                said == nullptr ? "none" : said->settings.name)
          << host << ' ' << path << ' ' << made.request.method_text << " round " << round;
      taken += found != nullptr ? 1 : 0;
    }
  }
  EXPECT_GT(taken, tables * 10) << "most requests should meet a route";
}

}  // namespace
}  // namespace pqedge::route
