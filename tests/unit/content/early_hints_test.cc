#include "content/early_hints.h"

#include <gtest/gtest.h>

namespace pqedge::content {
namespace {

// RFC 8288 3.5, RFC 8297 2, and the preload specification have these.
TEST(EarlyHints, LinksOfTheSpecifications) {
  for (const char* link :
       {"<http://example.com/TheBook/chapter2>; rel=\"previous\"; title=\"previous chapter\"",
        "</>; rel=\"http://example.net/foo\"", "</terms>; rel=\"copyright\"; anchor=\"#foo\"",
        "</style.css>; rel=preload; as=style", "</app/script.js>; rel=preload; as=script",
        "<https://cdn.test>; rel=preconnect; crossorigin", "<>;rel=x",
        "</a>\t; rel = preload ; as=\"a\\\"b\"", "</a,b>; rel=\"x, y\""}) {
    EXPECT_EQ(link_fault(link), "") << link;
  }
}

TEST(EarlyHints, WhatIsNoLink) {
  for (const char* link :
       {"", "/style.css", "</a", "</a>", "</a>;", "</a>; as=style", "</a>; rel=", "</a>; rel",
        "</a>; rel=preload, </b>; rel=preload", "</a>; rel=\"x", "</a> rel=x", "</a b>; rel=x",
        "</a\r\n>; rel=x", "</a>; rel=x\r\nSet-Cookie: a=b", "</\xc3\xa4>; rel=x", "</a>; =x"}) {
    EXPECT_NE(link_fault(link), "") << link;
  }
  EXPECT_NE(link_fault("</" + std::string(kMaxEarlyHintSize, 'a') + ">; rel=x"), "");
}

TEST(EarlyHints, WhoIsToldOfThem) {
  Arena arena;
  const auto told = [&](http::Method method, http::Version version, std::string_view mode) {
    http::Request request(arena);
    request.method = method;
    request.version = version;
    if (!mode.empty()) request.fields.add(http::Name::sec_fetch_mode, mode);
    return wants_early_hints(request);
  };
  using enum http::Method;
  using enum http::Version;
  EXPECT_TRUE(told(get, http11, ""));
  EXPECT_TRUE(told(get, http2, "navigate"));
  EXPECT_TRUE(told(get, http3, ""));
  EXPECT_FALSE(told(get, http10, ""));
  EXPECT_FALSE(told(get, http3, "cors"));
  EXPECT_FALSE(told(get, http3, "no-cors"));
  EXPECT_FALSE(told(head, http3, ""));
  EXPECT_FALSE(told(post, http3, "navigate"));
}

TEST(EarlyHints, WhatABackendMayNotSay) {
  Arena arena;
  http::Response response(arena);
  response.status = 103;
  response.fields.add("Link", "</a>; rel=preload");
  response.fields.add("Content-Length", "5");
  response.fields.add("Transfer-Encoding", "chunked");
  response.fields.add("Connection", "x-hop");
  response.fields.add("X-Hop", "1");
  response.fields.add("Alt-Svc", "h3=\":1\"");
  response.fields.add("X-Other", "2");
  strip_informational(response);
  std::string left;
  response.fields.for_each([&](const http::Field& f) { left.append(f.name).append(" "); });
  EXPECT_EQ(left, "Link X-Other ");
}

}  // namespace
}  // namespace pqedge::content
