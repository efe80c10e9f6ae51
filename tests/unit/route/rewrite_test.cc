#include "route/rewrite.h"

#include <gtest/gtest.h>

#include "unit/route/scene.h"

namespace pqedge::route {
namespace {

RouteSettings route_with(RewriteSettings rewrite, std::string prefix = "/api",
                         std::string regex = {}) {
  RouteSettings r;
  r.name = "r";
  r.pool = "p";
  if (regex.empty()) r.path_prefix = std::move(prefix);
  r.path_regex = std::move(regex);
  r.rewrite = std::move(rewrite);
  return r;
}

// The target that the backend is asked for, or "400".
std::string rewritten(const RouteSettings& r, std::string_view target) {
  const auto rewrite = Rewrite::compile(r);
  EXPECT_TRUE(rewrite.has_value()) << (rewrite ? "" : rewrite.error().message);
  TestScene t(target);
  EXPECT_TRUE(t.good) << target;
  Scene scene = t.scene();
  scene.rest = rest_behind(r, t.request.path);
  const auto out = rewrite->target(scene);
  return out ? std::string(*out) : std::to_string(out.error().status);
}

TEST(Rewrite, StripsAPrefixAndLeavesTheRestAsItCame) {
  const auto r = route_with({.strip_prefix = "/api"});
  EXPECT_EQ(rewritten(r, "/api/v1?x=1&y"), "/v1?x=1&y");
  EXPECT_EQ(rewritten(r, "/api"), "/");
  EXPECT_EQ(rewritten(r, "/api/"), "/");
  EXPECT_EQ(rewritten(r, "/api?"), "/?");
  EXPECT_EQ(rewritten(r, "/apix"), "/apix");
  EXPECT_EQ(rewritten(r, "/api/a%2Fb/%7Euser//x?q=%41"), "/a%2Fb/%7Euser//x?q=%41");
  EXPECT_EQ(rewritten(r, "/%61p%69/%41"), "/%41") << "the prefix in another spelling";
  EXPECT_EQ(rewritten(r, "//api//x"), "/x") << "never a path that begins with two slashes";
}

TEST(Rewrite, ReplacesTheRoutesPrefix) {
  EXPECT_EQ(rewritten(route_with({.prefix = "/v2"}), "/api/x?y"), "/v2/x?y");
  EXPECT_EQ(rewritten(route_with({.prefix = "/v2"}), "/api"), "/v2");
  EXPECT_EQ(rewritten(route_with({.prefix = "/v2/"}), "/api/x"), "/v2/x");
  EXPECT_EQ(rewritten(route_with({.prefix = "/"}), "/api/x"), "/x");
  EXPECT_EQ(rewritten(route_with({.prefix = "/v2"}, ""), "/x"), "/v2/x");
  EXPECT_EQ(rewritten(route_with({.prefix = "/v2"}, "/"), "/"), "/v2/");
  EXPECT_EQ(rewritten(route_with({.prefix = "/v2"}, "/ap%2Fi"), "/ap%2fi/x"), "/v2/x");
}

TEST(Rewrite, AWholePathByGroups) {
  const auto r = route_with({.path = "/users?id=${1}&n=${2}"}, "", "/user/([0-9]+)(/[a-z]*)?");
  EXPECT_EQ(rewritten(r, "/user/7"), "/users?id=7&n=");
  EXPECT_EQ(rewritten(r, "/user/7/x?id=8"), "/users?id=7&n=/x&id=8");
  const auto own = route_with({.path = "/v${1}${rest}", .regex = "/api/v([0-9])/.*"});
  EXPECT_EQ(rewritten(own, "/api/v2/x"), "/v2/v2/x");
  EXPECT_EQ(rewritten(own, "/api/x"), "/api/x") << "what the pattern does not match stays";
}

// K64: a rewrite makes no path that no client may send.
TEST(Rewrite, APathWithADotSegmentIsRefused) {
  const auto r = route_with({.path = "/files/${1}.${2}/x"}, "", "/f/(.*)-(.*)");
  EXPECT_EQ(rewritten(r, "/f/-"), "400");
  EXPECT_EQ(rewritten(r, "/f/a-b"), "/files/a.b/x");
  const auto slashes = route_with({.path = "/${1}"}, "", "/go(/.*)");
  EXPECT_EQ(rewritten(slashes, "/go/evil.test"), "/evil.test");
}

TEST(Rewrite, TheHostAlone) {
  const auto r = route_with({.host = "app.internal:8080"});
  EXPECT_EQ(rewritten(r, "/api/x"), "/api/x");
  EXPECT_EQ(Rewrite::compile(r)->host(), "app.internal:8080");
}

std::string sent_to(RedirectSettings redirect, std::string_view target, std::string prefix = "/old",
                    std::string regex = {}) {
  RouteSettings r;
  if (regex.empty()) r.path_prefix = std::move(prefix);
  r.path_regex = std::move(regex);
  r.redirect = std::move(redirect);
  const auto compiled = Redirect::compile(r);
  EXPECT_TRUE(compiled.has_value()) << (compiled ? "" : compiled.error().message);
  TestScene t(target, "a.test:8443");
  Scene scene = t.scene();
  scene.rest = rest_behind(r, t.request.path);
  const auto out = compiled->location(scene);
  return out ? std::string(*out) : std::to_string(out.error().status);
}

TEST(Redirect, KeepsTheRestOfThePathAndTheQuery) {
  const RedirectSettings to{.to = "https://b.test/new${rest}"};
  EXPECT_EQ(sent_to(to, "/old/x/y?a=1"), "https://b.test/new/x/y?a=1");
  EXPECT_EQ(sent_to(to, "/old"), "https://b.test/new");
  EXPECT_EQ(sent_to({.to = "${scheme}://www.${host}:${port}${path}"}, "/old/x?q"),
            "https://www.a.test:8443/old/x?q");
  EXPECT_EQ(sent_to({.to = "https://b.test/?from=${path}#top"}, "/old?q"),
            "https://b.test/?from=/old&q#top");
  EXPECT_EQ(sent_to({.to = "/new", .keep_query = false}, "/old?q"), "/new");
  EXPECT_EQ(sent_to({.to = "/posts/${1}"}, "/blog/7-x", "", "/blog/([0-9]+)-.*"), "/posts/7");
}

// Browsers take "//evil.test" and "/\evil.test" for another host.
TEST(Redirect, APathDoesNotBecomeAHost) {
  EXPECT_EQ(sent_to({.to = "${rest}"}, "/old//evil.test"), "/evil.test");
  EXPECT_EQ(sent_to({.to = "/${1}"}, "/go//evil.test", "", "/go(/.*)"), "/evil.test");
  EXPECT_EQ(sent_to({.to = "${rest}"}, "/old/\\evil.test"), "/%5Cevil.test");
}

}  // namespace
}  // namespace pqedge::route
