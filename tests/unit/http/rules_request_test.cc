#include <gtest/gtest.h>

#include <string>

#include "http/rules.h"
#include "unit/http/support.h"

namespace pqedge::http {
namespace {

struct Checked {
  uint16_t status = 0;
  std::string authority;
  bool expects_continue = false;
};

Checked check(Version version, std::string_view authority, const FieldList& fields,
              Method method = Method::get) {
  Arena arena;
  Request r = make_request(arena, fields, version);
  r.authority = authority;
  r.method = method;
  const auto ok = check_request(r);
  if (ok) {
    // The exchange checks again what the codec had checked: nothing may change.
    const std::string_view before = r.authority;
    EXPECT_TRUE(check_request(r).has_value());
    EXPECT_EQ(before, r.authority);
  }
  return {ok ? uint16_t{0} : ok.error().status, std::string(r.authority), r.expects_continue};
}

TEST(CheckRequest, Http11NeedsExactlyOneHost) {  // RFC 9112 3.2
  EXPECT_EQ(check(Version::http11, "", {{"Host", "a.test"}}).authority, "a.test");
  EXPECT_EQ(check(Version::http11, "", {}).status, 400);
  EXPECT_EQ(check(Version::http11, "", {{"Host", "a.test"}, {"host", "a.test"}}).status, 400);
  EXPECT_EQ(check(Version::http11, "a.test", {}).status, 400);  // absolute-form needs it too
}

TEST(CheckRequest, Http10MayHaveNoHost) {
  EXPECT_EQ(check(Version::http10, "", {}).status, 0);
  EXPECT_EQ(check(Version::http10, "", {{"Host", "a.test"}}).authority, "a.test");
  EXPECT_EQ(check(Version::http10, "", {{"Host", "a"}, {"Host", "b"}}).status, 400);
}

TEST(CheckRequest, AnAbsoluteTargetStandsForTheHostField) {  // RFC 9112 3.2.2
  EXPECT_EQ(check(Version::http11, "a.test", {{"Host", "b.test"}}).authority, "a.test");
  EXPECT_EQ(check(Version::http11, "a.test", {{"Host", "b test"}}).status, 400);
  EXPECT_EQ(check(Version::http11, "a.test", {{"Host", ""}}).authority, "a.test");
}

// RFC 9113 8.3.1, RFC 9114 4.3.1.
TEST(CheckRequest, HostAndAuthorityAgree) {
  for (const Version v : {Version::http2, Version::http3}) {
    EXPECT_EQ(check(v, "a.test", {}).authority, "a.test");
    EXPECT_EQ(check(v, "", {{"host", "a.test"}}).authority, "a.test");
    EXPECT_EQ(check(v, "a.test", {{"host", "a.test"}}).status, 0);
    EXPECT_EQ(check(v, "a.test", {{"host", "A.TEST:443"}}).status, 0);
    EXPECT_EQ(check(v, "a.test", {{"host", "a.test:8443"}}).status, 400);
    EXPECT_EQ(check(v, "a.test", {{"host", "b.test"}}).status, 400);
    EXPECT_EQ(check(v, "a.test", {{"host", ""}}).status, 400);
    EXPECT_EQ(check(v, "a.test", {{"host", "a.test"}, {"host", "a.test"}}).status, 400);
    EXPECT_EQ(check(v, "", {}).status, 400);
  }
}

TEST(CheckRequest, NoConnectionFieldsInHttp2And3) {  // RFC 9113 8.2.2, RFC 9114 4.2
  for (const Version v : {Version::http2, Version::http3}) {
    for (const char* name :
         {"connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"}) {
      EXPECT_EQ(check(v, "a.test", {{name, "x"}}).status, 400) << name;
    }
    EXPECT_EQ(check(v, "a.test", {{"te", "trailers"}}).status, 0);
    EXPECT_EQ(check(v, "a.test", {{"te", "gzip"}}).status, 400);
    EXPECT_EQ(check(v, "a.test", {{"te", "trailers, gzip"}}).status, 400);
  }
  EXPECT_EQ(
      check(Version::http11, "", {{"Host", "a"}, {"Connection", "TE"}, {"TE", "gzip"}}).status, 0);
}

TEST(CheckRequest, ContentLengthIsOneNumber) {  // RFC 9110 8.6
  for (const char* bad :
       {"", "+1", "-1", "1, 1", "1,1", "0x1", "1 ", "18446744073709551616", "1.0"}) {
    EXPECT_EQ(check(Version::http2, "a", {{"content-length", bad}}).status, 400) << bad;
  }
  EXPECT_EQ(check(Version::http2, "a", {{"content-length", "18446744073709551615"}}).status, 0);
  EXPECT_EQ(check(Version::http2, "a", {{"content-length", "1"}, {"content-length", "1"}}).status,
            400);
}

TEST(CheckRequest, ContentLengthAgreesWithTheBody) {
  Arena arena;
  Request r = make_request(arena, {{"Host", "a"}, {"Content-Length", "5"}});
  r.body = BodyKind::length;
  r.content_length = 5;
  EXPECT_TRUE(check_request(r).has_value());
  r.content_length = 6;
  EXPECT_FALSE(check_request(r).has_value());
}

TEST(CheckRequest, Expectations) {  // RFC 9110 10.1.1
  EXPECT_TRUE(
      check(Version::http11, "", {{"Host", "a"}, {"Expect", "100-Continue"}}).expects_continue);
  EXPECT_FALSE(check(Version::http10, "", {{"Expect", "100-continue"}}).expects_continue);
  EXPECT_EQ(check(Version::http11, "", {{"Host", "a"}, {"Expect", "tea"}}).status, 417);
  EXPECT_EQ(check(Version::http2, "a", {{"expect", "100-continue, tea"}}).status, 417);
}

TEST(CheckRequest, MaxForwardsIsANumberWhereItCounts) {  // RFC 9110 7.6.2
  EXPECT_EQ(check(Version::http2, "a", {{"max-forwards", "x"}}, Method::options).status, 400);
  EXPECT_EQ(check(Version::http2, "a", {{"max-forwards", "0"}}, Method::options).status, 0);
  EXPECT_EQ(check(Version::http2, "a", {{"max-forwards", "x"}}, Method::get).status, 0);
}

// Each option is looked up in each field: a list of thousands is work for nothing.
TEST(CheckRequest, ConnectionOptionsAreBounded) {
  const std::string many(1025, ',');
  EXPECT_EQ(check(Version::http11, "", {{"Host", "a"}, {"Connection", many}}).status, 400);
  EXPECT_EQ(check(Version::http11, "",
                  {{"Host", "a"},
                   {"Connection", std::string_view(many).substr(0, 600)},
                   {"Connection", std::string_view(many).substr(0, 600)}})
                .status,
            400);
}

TEST(TakeHop, CountsDownForOptionsAndTrace) {  // RFC 9110 7.6.2
  Arena arena;
  Request r = make_request(arena, {{"Max-Forwards", "10"}});
  r.method = Method::options;
  EXPECT_TRUE(take_hop(r));
  EXPECT_EQ(r.fields.get(Name::max_forwards), "9");
  r.fields.set(Name::max_forwards, "0");
  EXPECT_FALSE(take_hop(r));
  r.method = Method::get;
  EXPECT_TRUE(take_hop(r));
  EXPECT_EQ(r.fields.get(Name::max_forwards), "0");
  Request none = make_request(arena, {});
  none.method = Method::trace;
  EXPECT_TRUE(take_hop(none));
}

// RFC 9110 7.6.3. Edges under one name may stand behind each other: only many passes are a loop.
TEST(IsLoop, OurPseudonymInViaAgainAndAgain) {
  const auto loop = [](const FieldList& fields) {
    Arena arena;
    return is_loop(make_request(arena, fields), IdentitySettings{});
  };
  EXPECT_TRUE(loop({{"Via", "1.1 pqedge, 1.1 pqedge, 1.1 pqedge, 1.1 pqedge"}}));
  EXPECT_TRUE(loop({{"Via", "1.0 fred, HTTP/2 PQedge (ours), 1.1 p.example.net, 3 pqedge"},
                    {"Via", "2 pqedge"},
                    {"Via", "1.1\tpqedge(x)"}}));
  EXPECT_FALSE(loop({{"Via", "1.1 pqedge, 2 pqedge, 3 pqedge"}}));
  EXPECT_FALSE(loop({}));
  EXPECT_FALSE(loop({{"Via",
                      "1.1 pqedge2, 1.1 pqedge2, 1.1 pqedge2, 1.1 pqedge2, pqedge, pqedge, pqedge, "
                      "pqedge, 1.1 fred (pqedge)"}}));
}

}  // namespace
}  // namespace pqedge::http
