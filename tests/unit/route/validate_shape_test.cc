// What routes change must make sense.
#include "route/validate_shape.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "route/validate.h"

namespace pqedge::route {
namespace {

using Kind = HeaderRule::Kind;

RouteSettings to_pool() {
  RouteSettings r;
  r.name = "r";
  r.path_prefix = "/api";
  r.pool = "p";
  return r;
}

::testing::AssertionResult has(const RouteSettings& route, std::string_view key,
                               std::string_view what) {
  const Problems problems = validate({route});
  const auto fits = [&](const Problem& p) { return p.key == key && p.what.contains(what); };
  if (std::ranges::any_of(problems, fits)) return ::testing::AssertionSuccess();
  auto result = ::testing::AssertionFailure() << "no problem of " << key << " with: " << what;
  for (const Problem& p : problems) result << "\n" << p.key << ": " << p.what;
  return result;
}

TEST(RouteShape, GoodOnesHaveNoProblems) {
  RouteSettings r = to_pool();
  r.header_rules.request = {{Kind::set, "X-A", "${client_ip}"}, {Kind::remove, "X-*", ""}};
  r.header_rules.response = {{Kind::add, "Set-Cookie", "a=$$5"}};
  r.rewrite = {.strip_prefix = "/api", .host = "app.internal:8080"};
  r.spelling = {.words = true, .names = {"SOAPAction"}};
  r.canary.pool = "next";
  RouteSettings redirect;
  redirect.name = "moved";
  redirect.path_regex = "/blog/([0-9]+)";
  redirect.redirect = {.to = "https://${host}/posts/${1}", .status = 308};
  for (const Problem& p : validate({r, redirect})) ADD_FAILURE() << p.key << ": " << p.what;
}

TEST(RouteShape, HeaderRules) {
  const auto with = [](HeaderRule rule) {
    RouteSettings r = to_pool();
    r.header_rules.request = {std::move(rule)};
    return r;
  };
  const std::string base = "route[0].request_headers[0]";
  EXPECT_TRUE(has(with({Kind::set, "X A", "b"}), base + ".set", "is no name"));
  EXPECT_TRUE(has(with({Kind::add, "", "b"}), base + ".add", "is empty"));
  EXPECT_TRUE(has(with({Kind::set, "Content-Length", "1"}), base + ".set", "cannot be changed"));
  EXPECT_TRUE(has(with({Kind::set, "Host", "a"}), base + ".set", "cannot be changed"));
  EXPECT_TRUE(has(with({Kind::set, "X-A", ""}), base + ".value", "is empty"));
  EXPECT_TRUE(has(with({Kind::set, "X-A", "a\r\nb"}), base + ".value", "no value"));
  EXPECT_TRUE(has(with({Kind::set, "X-A", "${clinet_ip}"}), base + ".value", "no variable"));
  RouteSettings fixed = with({Kind::set, "X-A", "a"});
  fixed.pool.clear();
  fixed.answer_status = 200;
  EXPECT_TRUE(has(fixed, "route[0].request_headers", "no effect without pool"));
  const auto of_length = [](std::string value) {
    HeaderSettings s;
    s.response = {{Kind::set, "Content-Length", std::move(value)}};
    return validate(s);
  };
  EXPECT_TRUE(of_length("0").empty());
  EXPECT_FALSE(of_length("1").empty());
  const Problems all =
      validate(HeaderSettings{.request = {}, .response = {{Kind::set, "TE", "x"}}});
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].key, "headers.response[0].set");
}

TEST(RouteShape, Rewrites) {
  const auto with = [](RewriteSettings s) {
    RouteSettings r = to_pool();
    r.rewrite = std::move(s);
    return r;
  };
  const std::string base = "route[0].rewrite";
  EXPECT_TRUE(has(with({.strip_prefix = "/a", .prefix = "/b"}), base, "more than one"));
  EXPECT_TRUE(has(with({.strip_prefix = "api"}), base + ".strip_prefix", "does not begin"));
  EXPECT_TRUE(has(with({.strip_prefix = "/x"}), base + ".strip_prefix", "not where paths"));
  EXPECT_TRUE(has(with({.strip_prefix = "/"}), base + ".strip_prefix", "take nothing off"));
  EXPECT_TRUE(has(with({.prefix = "/a/../b"}), base + ".prefix", "no request can have"));
  EXPECT_TRUE(has(with({.path = "x"}), base + ".path", "does not begin"));
  EXPECT_TRUE(has(with({.path = "/a b"}), base + ".path", "may not stand"));
  EXPECT_TRUE(has(with({.path = "/${1}"}), base + ".path", "no pattern with groups"));
  EXPECT_TRUE(has(with({.path = "/${2}", .regex = "/(.*)"}), base + ".path", "has 1 groups"));
  EXPECT_TRUE(has(with({.regex = "/(.*)"}), base + ".regex", "no effect without path"));
  EXPECT_TRUE(has(with({.path = "/a", .regex = "("}), base + ".regex", "no regular expression"));
  EXPECT_TRUE(has(with({.host = "a b"}), base + ".host", "is not a host"));
  RouteSettings fixed = with({.host = "a"});
  fixed.pool.clear();
  fixed.answer_status = 200;
  EXPECT_TRUE(has(fixed, base, "no effect without pool"));
}

TEST(RouteShape, Redirects) {
  const auto with = [](RedirectSettings s, std::string regex = {}) {
    RouteSettings r;
    r.name = "r";
    r.path_regex = std::move(regex);
    r.redirect = std::move(s);
    return r;
  };
  const std::string to = "route[0].redirect.to";
  EXPECT_TRUE(has(with({.to = "www.example.com"}), to, "neither a URL nor a path"));
  EXPECT_TRUE(has(with({.to = "//evil.test"}), to, "neither a URL nor a path"));
  EXPECT_TRUE(has(with({.to = "javascript://x"}), to, "neither a URL nor a path"));
  EXPECT_TRUE(has(with({.to = "/a", .status = 305}), "route[0].redirect.status", "no redirect"));
  EXPECT_TRUE(has(with({.to = "https://a.test/${header.x}"}), to, "no variable of URLs"));
  EXPECT_TRUE(has(with({.to = "https://a.test${1}"}, "/go/(.*)"), to, "choose the host"));
  EXPECT_TRUE(has(with({.to = "https://${1}.a.test/"}, "/go/(.*)"), to, "choose the host"));
  RouteSettings both = with({.to = "/a"});
  both.pool = "p";
  EXPECT_TRUE(has(both, "route[0]", "more than one of pool, status, redirect"));
}

TEST(RouteShape, SpellingsAndCanaries) {
  RouteSettings r = to_pool();
  r.spelling.names = {"X-A", "x-a", "a b"};
  EXPECT_TRUE(has(r, "route[0].header_names[1]", "twice"));
  EXPECT_TRUE(has(r, "route[0].header_names[2]", "no name"));
  r.canary.pool = "p";
  EXPECT_TRUE(has(r, "route[0].canary.pool", "the pool of the route itself"));
  r.canary.pool = "next";
  r.canary.sticky_cookie = "a b";
  r.canary.sticky_header = "X-User";
  r.canary.rollback_window = 1;
  EXPECT_TRUE(has(r, "route[0].canary", "both sticky_cookie and sticky_header"));
  EXPECT_TRUE(has(r, "route[0].canary.sticky_cookie", "not a token"));
  EXPECT_TRUE(has(r, "route[0].canary.rollback_window", ""));
}

}  // namespace
}  // namespace pqedge::route
