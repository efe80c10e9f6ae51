#include "http/message.h"

#include <gtest/gtest.h>

#include <ctime>
#include <string>

#include "http/stream.h"

namespace pqedge::http {
namespace {

TEST(Message, MethodsAreCaseSensitive) {  // RFC 9110 9.1
  EXPECT_EQ(parse_method("GET"), Method::get);
  EXPECT_EQ(parse_method("HEAD"), Method::head);
  EXPECT_EQ(parse_method("POST"), Method::post);
  EXPECT_EQ(parse_method("PUT"), Method::put);
  EXPECT_EQ(parse_method("DELETE"), Method::delete_);
  EXPECT_EQ(parse_method("CONNECT"), Method::connect);
  EXPECT_EQ(parse_method("OPTIONS"), Method::options);
  EXPECT_EQ(parse_method("TRACE"), Method::trace);
  EXPECT_EQ(parse_method("PATCH"), Method::patch);
  for (const char* m : {"get", "Get", "", "GE", "GETT", "PROPFIND", "delete"}) {
    EXPECT_EQ(parse_method(m), Method::other) << m;
  }
}

TEST(Message, SafeAndIdempotentMethods) {  // RFC 9110 9.2.1, 9.2.2
  for (const Method m : {Method::get, Method::head, Method::options, Method::trace}) {
    EXPECT_TRUE(is_safe(m));
    EXPECT_TRUE(is_idempotent(m));
  }
  for (const Method m : {Method::put, Method::delete_}) {
    EXPECT_FALSE(is_safe(m));
    EXPECT_TRUE(is_idempotent(m));
  }
  for (const Method m : {Method::post, Method::patch, Method::connect, Method::other}) {
    EXPECT_FALSE(is_safe(m));
    EXPECT_FALSE(is_idempotent(m));
  }
}

TEST(Message, SomeAnswersHaveNoBody) {  // RFC 9110 6.4.1
  EXPECT_TRUE(response_has_body(Method::get, 200));
  EXPECT_TRUE(response_has_body(Method::post, 404));
  EXPECT_FALSE(response_has_body(Method::head, 200));
  EXPECT_FALSE(response_has_body(Method::get, 204));
  EXPECT_FALSE(response_has_body(Method::get, 304));
  EXPECT_FALSE(response_has_body(Method::get, 103));
}

TEST(Message, Names) {
  EXPECT_EQ(version_name(Version::http10), "HTTP/1.0");
  EXPECT_EQ(version_name(Version::http3), "HTTP/3");
  EXPECT_EQ(via_protocol(Version::http11), "1.1");
  EXPECT_EQ(via_protocol(Version::http2), "2");
  EXPECT_EQ(reason_phrase(421), "Misdirected Request");
  EXPECT_EQ(reason_phrase(299), "");
  EXPECT_EQ(abort_name(Abort::timed_out), "timed out");
}

// RFC 9110 5.6.7; strptime is the other opinion.
TEST(Message, DateIsAnImfFixdateOfNow) {
  const std::time_t before = std::time(nullptr);
  const std::string text(http_date());
  const std::time_t after = std::time(nullptr);
  ASSERT_EQ(text.size(), 29u);
  std::tm t{};
  const char* const end = strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &t);
  ASSERT_NE(end, nullptr);
  EXPECT_EQ(*end, '\0');
  const std::time_t told = timegm(&t);
  EXPECT_GE(told, before);
  EXPECT_LE(told, after);
  char again[30];
  gmtime_r(&told, &t);
  ASSERT_EQ(std::strftime(again, sizeof again, "%a, %d %b %Y %H:%M:%S GMT", &t), 29u);
  EXPECT_EQ(text, again);
}

}  // namespace
}  // namespace pqedge::http
