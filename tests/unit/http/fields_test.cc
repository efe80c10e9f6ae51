#include "http/fields.h"

#include <gtest/gtest.h>

#include <string>

#include "unit/http/support.h"

namespace pqedge::http {
namespace {

TEST(Fields, KeepsOrderCaseAndRepeats) {
  Arena arena;
  Fields f(arena);
  f.add("X-CamelCase", "1");
  f.add("Set-Cookie", "a=1");
  f.add("set-cookie", "b=2");
  f.add(Name::content_type, "text/plain");
  EXPECT_EQ(lines(f), (std::vector<std::string>{"X-CamelCase: 1", "Set-Cookie: a=1",
                                                "set-cookie: b=2", "Content-Type: text/plain"}));
  EXPECT_EQ(f.size(), 4u);
  EXPECT_EQ(f.count(Name::set_cookie), 2u);
  EXPECT_EQ(f.get(Name::set_cookie), "a=1");
}

TEST(Fields, FindsWithoutCase) {
  Arena arena;
  Fields f(arena);
  f.add("x-thing", "1");
  f.add("ETAG", "2");
  ASSERT_NE(f.find("X-THING"), nullptr);
  EXPECT_EQ(f.find("X-THING")->value, "1");
  EXPECT_EQ(f.find("etag")->value, "2");
  EXPECT_EQ(f.find(Name::etag)->value, "2");
  EXPECT_EQ(f.find("x-thin"), nullptr);
  EXPECT_EQ(f.find(Name::age), nullptr);
}

TEST(Fields, RemovedFieldsAreGoneForAllButRaw) {
  Arena arena;
  Fields f(arena);
  f.add("Via", "1.0 a");
  f.add("X-a", "1");
  f.add("via", "1.1 b");
  f.remove(Name::via);
  f.remove("x-A");
  EXPECT_TRUE(f.empty());
  EXPECT_EQ(f.size(), 0u);
  EXPECT_EQ(f.raw().size(), 3u);
  EXPECT_FALSE(f.has(Name::via));
  f.set(Name::via, "2 c");
  f.set(Name::via, "2 d");
  EXPECT_EQ(lines(f), std::vector<std::string>{"Via: 2 d"});
}

// RFC 9110 5.3.
TEST(Fields, JoinsSeveralLinesIntoOneList) {
  Arena arena;
  Fields f(arena);
  EXPECT_EQ(f.joined(Name::accept), "");
  const std::string_view one = "text/html";
  f.add(Name::accept, one);
  EXPECT_EQ(f.joined(Name::accept).data(), one.data());  // no copy
  f.add("x-between", "x");
  f.add(Name::accept, "");
  f.add(Name::accept, "*/*;q=0.1");
  EXPECT_EQ(f.joined(Name::accept), "text/html, , */*;q=0.1");
}

TEST(Fields, GrowsBeyondItsFirstRoom) {
  Arena arena;
  Fields f(arena);
  std::vector<std::string> names;
  for (int i = 0; i < 500; ++i) names.push_back("x-" + std::to_string(i));
  for (const std::string& n : names) f.add(n, n);
  for (const std::string& n : names) ASSERT_EQ(f.find(n)->value, n);
  f.clear();
  EXPECT_TRUE(f.empty());
}

}  // namespace
}  // namespace pqedge::http
