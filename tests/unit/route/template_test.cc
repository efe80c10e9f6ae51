#include "route/template.h"

#include <gtest/gtest.h>

#include "unit/route/scene.h"

namespace pqedge::route {
namespace {

using Use = Template::Use;

std::string filled(std::string_view text, TestScene& t, Use use = Use::field) {
  auto compiled = Template::compile(text, use, kMaxGroups);
  EXPECT_TRUE(compiled.has_value()) << (compiled ? "" : compiled.error().message);
  return compiled ? std::string(compiled->fill(t.scene())) : "";
}

std::string refused(std::string_view text, Use use = Use::field, size_t groups = 0) {
  auto compiled = Template::compile(text, use, groups);
  EXPECT_FALSE(compiled.has_value()) << text;
  return compiled ? "" : compiled.error().message;
}

TEST(RouteTemplate, LiteralsAreTakenAsTheyAre) {
  TestScene t;
  EXPECT_EQ(filled("", t), "");
  EXPECT_EQ(filled("plain {text}", t), "plain {text}");
  EXPECT_EQ(filled("5$$ and $${host}", t), "5$ and ${host}");
}

TEST(RouteTemplate, VariablesOfTheConnectionAndTheRequest) {
  TestScene t;
  EXPECT_EQ(filled("${client_ip} ${client_port}", t), "198.51.100.4 5000");
  EXPECT_EQ(filled("${tls_version} ${group} ${cipher} ${sni} ${alpn} ${post_quantum}", t),
            "TLSv1.3 X25519MLKEM768 TLS_AES_256_GCM_SHA384 a.test h2 1");
  EXPECT_EQ(filled("${method} ${scheme} ${host} ${port} ${authority}", t),
            "GET https a.test 8443 A.test:8443");
  EXPECT_EQ(filled("${path}|${query}|${target}|${http_version}", t), "/a/b|x=1|/a/b?x=1|HTTP/2");
  EXPECT_EQ(filled("${local_ip}:${local_port} ${request_id}", t), "192.0.2.9:443 id-1");
  EXPECT_EQ(filled("[${client_subject}${client_verified}${status}${pool}]", t), "[]");
}

TEST(RouteTemplate, PortIsTheSchemesWhereNoneIsNamed) {
  TestScene t("/", "a.test");
  EXPECT_EQ(filled("${port}", t), "443");
  t.request.scheme = "http";
  EXPECT_EQ(filled("${port}", t), "80");
}

TEST(RouteTemplate, FieldsAndCookies) {
  TestScene t;
  t.request.fields.add("X-Team", "blue");
  t.request.fields.add("Cookie", "ab=0; a=1; b=2");
  t.request.fields.add("cookie", "c=3=4; a=9");
  EXPECT_EQ(filled("${header.x-team}/${header.none}/${header.User-Agent}", t), "blue//");
  EXPECT_EQ(filled("${cookie.a}${cookie.b}${cookie.c}${cookie.d}", t), "123=4");
}

TEST(RouteTemplate, PlainConnectionsHaveNoTls) {
  TestScene t;
  t.facts = {};
  t.facts.peer = *net::Address::parse("192.0.2.7:5000");
  EXPECT_EQ(filled("${group}${post_quantum}${tls_version}", t), "");
}

TEST(RouteTemplate, WhatIsNoVariableIsRefused) {
  EXPECT_NE(refused("${clientip}").find("did you mean \"client_ip\""), std::string::npos);
  EXPECT_NE(refused("costs 5$").find("$$"), std::string::npos);
  EXPECT_NE(refused("${host").find("begins no variable"), std::string::npos);
  EXPECT_NE(refused("${1}").find("no groups"), std::string::npos);
  EXPECT_NE(refused("${header.}").find("no variable"), std::string::npos);
  EXPECT_NE(refused("${header.a b}").find("no variable"), std::string::npos);
}

// What any client can send must not stand in a URL.
TEST(RouteTemplate, UrlsTakeOnlyWhatFitsThere) {
  for (const char* bad : {"${header.x}", "${cookie.x}", "${sni}", "${target}", "${method}"}) {
    EXPECT_NE(refused(bad, Use::url).find("no variable of URLs"), std::string::npos) << bad;
  }
  EXPECT_NE(refused("/${2}", Use::url, 1).find("the pattern has 1 groups"), std::string::npos);
}

TEST(RouteTemplate, Groups) {
  TestScene t;
  const std::string_view groups[] = {"x", "y"};
  auto compiled = Template::compile("/${2}/${1}${3}", Use::url, 3);
  ASSERT_TRUE(compiled);
  Scene scene = t.scene();
  scene.groups = groups;
  EXPECT_EQ(compiled->fill(scene), "/y/x");
  EXPECT_TRUE(compiled->has_group_before(2));
  EXPECT_FALSE(compiled->has_group_before(1));
}

}  // namespace
}  // namespace pqedge::route
