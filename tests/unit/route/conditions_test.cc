#include "route/conditions.h"

#include <gtest/gtest.h>

#include "base/arena.h"

namespace pqedge::route {
namespace {

using Kind = ValueMatch::Kind;

class RouteConditions : public testing::Test {
 protected:
  RouteConditions() {
    request_.method = http::Method::get;
    request_.method_text = "GET";
  }
  bool hold(const RouteSettings& s, std::string_view client = "192.0.2.7") {
    auto c = Conditions::compile(s);
    EXPECT_TRUE(c) << (c ? "" : c.error().message);
    const Subject subject{request_, client};
    EXPECT_EQ(c->hold(subject), c->failed(subject).empty()) << c->failed(subject);
    return c->hold(subject);
  }
  bool field(Kind kind, std::string value = {}, std::string name = "x-tenant") {
    RouteSettings s;
    s.headers = {{std::move(name), kind, std::move(value)}};
    return hold(s);
  }
  bool parameter(std::string_view query, std::string name, Kind kind, std::string value = {}) {
    request_.query = query;
    RouteSettings s;
    s.query = {{std::move(name), kind, std::move(value)}};
    return hold(s);
  }
  Arena arena_;
  http::Request request_{arena_};
};

TEST_F(RouteConditions, NoneHoldAlways) {
  EXPECT_TRUE(hold({}));
  EXPECT_TRUE(Conditions().empty());
}

TEST_F(RouteConditions, MethodsAreCaseSensitive) {  // RFC 9110 9.1
  RouteSettings s;
  s.methods = {"POST", "PURGE"};
  EXPECT_FALSE(hold(s));
  request_.method_text = "PURGE";
  EXPECT_TRUE(hold(s));
  request_.method_text = "purge";
  EXPECT_FALSE(hold(s));
}

TEST_F(RouteConditions, FieldsByNameWithoutCase) {
  EXPECT_TRUE(field(Kind::absent));
  EXPECT_FALSE(field(Kind::present));
  request_.fields.add("X-Tenant", "blue-7");
  EXPECT_TRUE(field(Kind::present));
  EXPECT_FALSE(field(Kind::absent));
  EXPECT_FALSE(field(Kind::exact, "blue"));
  EXPECT_TRUE(field(Kind::exact, "blue-7"));
  EXPECT_TRUE(field(Kind::prefix, "blue"));
  EXPECT_TRUE(field(Kind::regex, "[a-z]+-[0-9]"));
  EXPECT_FALSE(field(Kind::regex, "[a-z]+")) << "a pattern stands for the whole value";
  request_.fields.add("User-Agent", "curl/8");  // one of the known names
  EXPECT_TRUE(field(Kind::prefix, "curl/", "user-AGENT"));
}

TEST_F(RouteConditions, OneOfSeveralFieldsIsEnough) {
  request_.fields.add("X-Tenant", "red");
  request_.fields.add("x-tenant", "blue");
  EXPECT_TRUE(field(Kind::exact, "blue"));
  request_.fields.remove("x-tenant");
  EXPECT_FALSE(field(Kind::exact, "blue")) << "removed fields are none";
  EXPECT_TRUE(field(Kind::absent));
}

TEST_F(RouteConditions, ParametersAreComparedDecoded) {
  EXPECT_TRUE(parameter("a=1&b=two", "b", Kind::exact, "two"));
  EXPECT_FALSE(parameter("a=1&b=two", "c", Kind::present));
  EXPECT_TRUE(parameter("a=1&b=two", "c", Kind::absent));
  EXPECT_TRUE(parameter("a", "a", Kind::present));
  EXPECT_TRUE(parameter("a", "a", Kind::exact, ""));
  EXPECT_TRUE(parameter("&&a=%41+b&", "a", Kind::exact, "A b"));
  EXPECT_TRUE(parameter("%61=x", "a", Kind::exact, "x"));
  EXPECT_TRUE(parameter("a=1&a=2", "a", Kind::exact, "2")) << "one of several is enough";
  EXPECT_TRUE(parameter("a=b=c", "a", Kind::exact, "b=c"));
  EXPECT_TRUE(parameter("a=%4", "a", Kind::exact, "%4")) << "no escape, so it stays";
  EXPECT_TRUE(parameter("a=%zz", "a", Kind::exact, "%zz"));
  EXPECT_TRUE(parameter("id=%31%32", "id", Kind::regex, "[0-9]+"));
  EXPECT_TRUE(parameter("v=2.1", "v", Kind::prefix, "2."));
  EXPECT_FALSE(parameter("", "a", Kind::present));
}

TEST_F(RouteConditions, ClientsByNetwork) {
  RouteSettings s;
  s.clients = {*net::Network::parse("10.0.0.0/8"), *net::Network::parse("2001:db8::/32")};
  EXPECT_TRUE(hold(s, "10.1.2.3"));
  EXPECT_TRUE(hold(s, "2001:db8::1"));
  EXPECT_FALSE(hold(s, "192.0.2.1"));
  EXPECT_FALSE(hold(s, "")) << "who is not known is in no network";
  EXPECT_FALSE(hold(s, "unix"));
}

TEST_F(RouteConditions, AllHaveToHold) {
  RouteSettings s;
  s.methods = {"GET"};
  s.headers = {{"a", Kind::exact, "1"}, {"b", Kind::present, ""}};
  request_.fields.add("a", "1");
  EXPECT_FALSE(hold(s));
  request_.fields.add("b", "");
  EXPECT_TRUE(hold(s));
}

TEST_F(RouteConditions, SayWhichDoesNotHold) {
  RouteSettings s;
  s.headers = {{"x-tenant", Kind::prefix, "blue"}};
  auto c = Conditions::compile(s);
  ASSERT_TRUE(c);
  EXPECT_EQ(c->failed({request_, ""}), "it wants that the field x-tenant begins with \"blue\"");
}

}  // namespace
}  // namespace pqedge::route
