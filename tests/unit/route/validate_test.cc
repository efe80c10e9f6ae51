#include "route/validate.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace pqedge::route {
namespace {

RouteSettings to_pool(std::string name, std::vector<std::string> hosts = {}) {
  RouteSettings r;
  r.name = std::move(name);
  r.hosts = std::move(hosts);
  r.pool = "p";
  return r;
}

const Problem* find(const Problems& problems, std::string_view key, std::string_view what) {
  const auto it = std::ranges::find_if(problems, [&](const Problem& p) {
    return p.key == key && p.what.find(what) != std::string::npos;
  });
  return it == problems.end() ? nullptr : &*it;
}

::testing::AssertionResult has(const Problems& problems, std::string_view key,
                               std::string_view what) {
  if (find(problems, key, what) != nullptr) return ::testing::AssertionSuccess();
  auto result = ::testing::AssertionFailure() << "no problem of " << key << " with: " << what;
  for (const Problem& p : problems) result << "\n" << p.key << ": " << p.what;
  return result;
}

TEST(RouteValidate, GoodRoutesHaveNoProblems) {
  RouteSettings a = to_pool("a", {"a.test", "*.a.test", "192.0.2.1", "[::1]", "x_y.test"});
  a.path_prefix = "/api/";
  RouteSettings b;
  b.name = "b";
  b.path = "/a%2Fb";
  b.answer_status = 204;
  RouteSettings c;
  c.name = "c";
  c.redirect_https = true;
  EXPECT_TRUE(validate({a, b, c}).empty());
}

TEST(RouteValidate, NamesAreLabelsAndUnique) {
  const Problems p = validate({to_pool("a", {"x.test"}), to_pool("a", {"y.test"}),
                               to_pool("", {"z.test"}), to_pool("two words", {"w.test"})});
  EXPECT_TRUE(has(p, "route[1].name", "another route"));
  EXPECT_EQ(find(p, "route[1].name", "another route")->related, "route[0]");
  EXPECT_TRUE(has(p, "route[2].name", "is empty"));
  EXPECT_TRUE(has(p, "route[3].name", "is not a name"));
}

TEST(RouteValidate, HostsAreHostNames) {
  for (const char* bad : {"", "*", "*.", "a..test", ".a.test", "a.test.", "a.*.test", "**.a.test",
                          "*a.test", "a.test:443", "https://a.test", "a/b", "b\xc3\xbc.test", "::1",
                          "[::1", "[1.2.3.4]", "a b"}) {
    EXPECT_TRUE(has(validate({to_pool("a", {bad})}), "route[0].hosts[0]", "is not a host")) << bad;
  }
  EXPECT_TRUE(has(validate({to_pool("a", {std::string(64, 'a') + ".test"})}), "route[0].hosts[0]",
                  "is not a host"));
  EXPECT_TRUE(has(validate({to_pool("a", {"a.test", "A.test"})}), "route[0].hosts[1]", "twice"));
}

TEST(RouteValidate, PathsAreCanonical) {
  const auto with_path = [](std::string path) {
    RouteSettings r = to_pool("a");
    r.path = std::move(path);
    return validate({r});
  };
  EXPECT_TRUE(with_path("/a/b").empty());
  EXPECT_TRUE(has(with_path("a"), "route[0].path", "does not begin"));
  EXPECT_TRUE(has(with_path("/a?b"), "route[0].path", "query"));
  EXPECT_TRUE(has(with_path("/a/../b"), "route[0].path", "no request can have"));
  EXPECT_TRUE(has(with_path("/a%"), "route[0].path", "no request can have"));
  EXPECT_TRUE(has(with_path("/%61"), "route[0].path", "not in canonical form"));
  EXPECT_TRUE(has(with_path("//a"), "route[0].path", "not in canonical form"));
  EXPECT_EQ(find(with_path("/%61"), "route[0].path", "canonical")->hint, "write \"/a\"");
}

TEST(RouteValidate, ARouteDoesOneThing) {
  RouteSettings none;
  none.name = "none";
  RouteSettings two = to_pool("two", {"b.test"});
  two.answer_status = 404;
  RouteSettings both = to_pool("both", {"c.test"});
  both.path = "/a";
  both.path_prefix = "/b";
  const Problems p = validate({none, two, both});
  EXPECT_TRUE(has(p, "route[0]", "says not what to do"));
  EXPECT_TRUE(has(p, "route[1]", "more than one"));
  EXPECT_TRUE(has(p, "route[2]", "more than one of path, path_prefix and path_regex"));
}

TEST(RouteValidate, AnswersAreFinalAndHaveABodyWhereTheirStatusAllowsOne) {
  const auto with = [](uint16_t status, std::string body) {
    RouteSettings r;
    r.name = "a";
    r.answer_status = status;
    r.answer_body = std::move(body);
    return validate({r});
  };
  EXPECT_TRUE(with(200, "x").empty());
  EXPECT_TRUE(has(with(100, ""), "route[0].status", "final"));
  EXPECT_TRUE(has(with(600, ""), "route[0].status", "final"));
  EXPECT_TRUE(has(with(204, "x"), "route[0].body", "no body"));
  EXPECT_TRUE(has(with(304, "x"), "route[0].body", "no body"));
  EXPECT_TRUE(has(with(0, "x"), "route[0].body", "without status"));
}

TEST(RouteValidate, TheSameHostAndPathMakesTheSecondUnreachable) {
  const Problems p = validate({to_pool("a", {"a.test", "b.test"}), to_pool("b", {"B.test"})});
  ASSERT_TRUE(has(p, "route[1]", "can never be reached"));
  EXPECT_EQ(find(p, "route[1]", "never")->related, "route[0]");
  EXPECT_FALSE(find(p, "route[1]", "never")->warning);
}

TEST(RouteValidate, SeveralEarlierRoutesTogetherMakeOneUnreachable) {
  const Problems p = validate(
      {to_pool("a", {"a.test"}), to_pool("b", {"b.test"}), to_pool("c", {"a.test", "b.test"})});
  EXPECT_TRUE(has(p, "route[2]", "can never be reached"));
}

TEST(RouteValidate, AHostTakenAlreadyIsAWarningWhereOthersAreLeft) {
  const Problems p = validate({to_pool("a", {"a.test"}), to_pool("b", {"a.test", "b.test"})});
  ASSERT_TRUE(has(p, "route[1].hosts[0]", "has no effect"));
  EXPECT_TRUE(find(p, "route[1].hosts[0]", "has no effect")->warning);
}

TEST(RouteValidate, ThePrefixSlashIsEveryPath) {
  RouteSettings slash = to_pool("slash");
  slash.path_prefix = "/";
  EXPECT_TRUE(has(validate({to_pool("all"), slash}), "route[1]", "can never be reached"));
}

TEST(RouteValidate, DifferentPathsOrHostsAreReachable) {
  RouteSettings exact = to_pool("exact");
  exact.path = "/a";
  RouteSettings prefix = to_pool("prefix");
  prefix.path_prefix = "/a";
  RouteSettings below = to_pool("below");
  below.path_prefix = "/a/";
  EXPECT_TRUE(validate({exact, prefix, below, to_pool("all"), to_pool("wild", {"*.test"}),
                        to_pool("host", {"a.test"})})
                  .empty());
}

TEST(RouteValidate, ConditionsAreChecked) {
  RouteSettings r = to_pool("a");
  r.methods = {"GET", "get", "a b", "GET"};
  r.headers = {{"x y", ValueMatch::Kind::present, ""},
               {":path", ValueMatch::Kind::present, ""},
               {"Host", ValueMatch::Kind::exact, "a.test"},
               {"x", ValueMatch::Kind::regex, "(?=a)"},
               {"x", ValueMatch::Kind::prefix, ""}};
  r.query = {{"", ValueMatch::Kind::present, ""}, {"q", ValueMatch::Kind::regex, "("}};
  r.path_regex = "/a(";
  r.path = "/x";
  r.priority = 1001;
  const Problems p = validate({r});
  EXPECT_TRUE(has(p, "route[0].methods[1]", "no method that clients use"));
  EXPECT_TRUE(has(p, "route[0].methods[2]", "is no method"));
  EXPECT_TRUE(has(p, "route[0].methods[3]", "is there twice"));
  EXPECT_TRUE(has(p, "route[0].headers[0].name", "no name of a header field"));
  EXPECT_TRUE(has(p, "route[0].headers[1].name", "no name of a header field"));
  EXPECT_TRUE(has(p, "route[0].headers[2].name", "the host is matched by hosts"));
  EXPECT_TRUE(has(p, "route[0].headers[3].regex", "no regular expression"));
  EXPECT_TRUE(has(p, "route[0].headers[4].prefix", "is empty"));
  EXPECT_TRUE(has(p, "route[0].query[0].name", "is empty"));
  EXPECT_TRUE(has(p, "route[0].query[1].regex", "no regular expression"));
  EXPECT_TRUE(has(p, "route[0].path_regex", "no regular expression"));
  EXPECT_TRUE(has(p, "route[0]", "more than one of path, path_prefix and path_regex"));
  EXPECT_TRUE(has(p, "route[0].priority", "1001 is too large"));
}

TEST(RouteValidate, AtMostSixteenPriorities) {
  std::vector<RouteSettings> routes;
  for (uint32_t i = 0; i < 17; ++i) {
    routes.push_back(to_pool("r" + std::to_string(i), {"h" + std::to_string(i) + ".test"}));
    routes.back().priority = i;
  }
  EXPECT_TRUE(has(validate(routes), "route[16].priority", "17th different priority"));
  routes.pop_back();
  EXPECT_TRUE(validate(routes).empty());
}

// ---- routes that are never reached --------------------------------------------------------------

RouteSettings with(RouteSettings r, std::vector<std::string> methods, uint32_t priority = 0) {
  r.methods = std::move(methods);
  r.priority = priority;
  return r;
}

bool unreachable(const Problems& p, size_t index) {
  return has(p, entry_key("route", index), "can never be reached");
}

TEST(RouteValidate, ConditionsKeepRoutesOfOneHostAndPathApart) {
  RouteSettings blue = to_pool("blue", {"a.test"});
  blue.headers = {{"X-Tenant", ValueMatch::Kind::exact, "blue"}};
  RouteSettings green = to_pool("green", {"a.test"});
  green.headers = {{"x-tenant", ValueMatch::Kind::exact, "green"}};
  const RouteSettings rest = to_pool("rest", {"a.test"});
  EXPECT_TRUE(validate({blue, green, rest}).empty());
  RouteSettings again = blue;
  again.name = "again";
  again.headers[0].name = "X-TENANT";
  EXPECT_TRUE(unreachable(validate({blue, green, again, rest}), 2));
}

TEST(RouteValidate, ALaterRouteNeedsAMethodOfItsOwn) {
  const RouteSettings any = to_pool("any", {"a.test"});
  const RouteSettings some = with(to_pool("some", {"a.test"}), {"GET", "POST"});
  EXPECT_TRUE(validate({any, some}).empty()) << "who asks for more is looked at first";
  const RouteSettings get = with(to_pool("get", {"a.test"}), {"GET"});
  EXPECT_TRUE(unreachable(validate({some, get}), 1));
  EXPECT_TRUE(validate({get, some}).empty()) << "POST is left for the second";
}

TEST(RouteValidate, AHigherPriorityTakesWhatIsMoreSpecific) {
  const RouteSettings all = with(to_pool("all", {"*.a.test"}), {}, 10);
  RouteSettings api = to_pool("api", {"www.a.test"});
  api.path_prefix = "/api";
  EXPECT_TRUE(unreachable(validate({api, all}), 0));
  EXPECT_TRUE(validate({with(api, {}, 10), all}).empty());
  RouteSettings below = all;
  below.path_prefix = "/api/";
  EXPECT_TRUE(validate({api, below}).empty()) << "/api itself is left";
  RouteSettings other = to_pool("other", {"www.a.test", "b.test"});
  EXPECT_TRUE(validate({other, all}).empty()) << "b.test is left";
  EXPECT_TRUE(validate({api, with(all, {"GET"}, 10)}).empty()) << "other methods are left";
}

TEST(RouteValidate, TheSamePatternLaterAndWithMoreConditionsIsNeverReached) {
  RouteSettings first = to_pool("first", {"a.test"});
  first.path_regex = "/a.*";
  RouteSettings second = with(first, {"GET"});
  second.name = "second";
  EXPECT_TRUE(unreachable(validate({first, second}), 1));
  EXPECT_TRUE(validate({second, first}).empty());
}

}  // namespace
}  // namespace pqedge::route
