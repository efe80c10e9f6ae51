// What a CA says, right and wrong (RFC 8555 7.1, RFC 9773 4.1).
#include "jobs/acme/messages.h"

#include <gtest/gtest.h>

#include "jobs/acme/names.h"

namespace pqedge::acme {
namespace {

// RFC 8555 7.1.1.
constexpr std::string_view kDirectory = R"({
  "newNonce": "https://example.com/acme/new-nonce",
  "newAccount": "https://example.com/acme/new-account",
  "newOrder": "https://example.com/acme/new-order",
  "newAuthz": "https://example.com/acme/new-authz",
  "revokeCert": "https://example.com/acme/revoke-cert",
  "keyChange": "https://example.com/acme/key-change",
  "renewalInfo": "https://example.com/acme/renewal-info",
  "meta": {
    "termsOfService": "https://example.com/acme/terms/2017-5-30",
    "website": "https://www.example.com/",
    "caaIdentities": ["example.com"],
    "externalAccountRequired": true
  }
})";

TEST(AcmeMessages, DirectoryOfTheRfc) {
  const auto d = parse_directory(kDirectory);
  ASSERT_TRUE(d) << d.error().message;
  EXPECT_EQ(d->new_order, "https://example.com/acme/new-order");
  EXPECT_EQ(d->renewal_info, "https://example.com/acme/renewal-info");
  EXPECT_EQ(d->terms, "https://example.com/acme/terms/2017-5-30");
  EXPECT_TRUE(d->needs_external_account);
}

TEST(AcmeMessages, GarbageIsRefusedWithAReason) {
  for (const std::string_view bad :
       {"", "x", "[]", "\"text\"", "{}", R"({"newNonce":5})", "<html>busy</html>",
        R"({"newNonce":"http://plain/","newAccount":"https://a/x","newOrder":"https://a/y"})",
        R"({"newNonce":"https://a/ b","newAccount":"https://a/x","newOrder":"https://a/y"})"}) {
    const auto d = parse_directory(bad);
    ASSERT_FALSE(d) << bad;
    EXPECT_FALSE(d.error().message.empty());
  }
}

TEST(AcmeMessages, DepthAndSizeAreBounded) {
  std::string deep(100'000, '[');
  EXPECT_NE(parse_order(deep).error().message.find("nested"), std::string::npos);
  EXPECT_NE(parse_order(std::string(kMaxJson + 1, ' ')).error().message.find("bytes"),
            std::string::npos);
  // Brackets in strings are no depth.
  const std::string text = R"({"type":"x","detail":")" + std::string(100, '[') + "\"}";
  EXPECT_NE(parse_problem(text).text.find("[[["), std::string::npos);
}

TEST(AcmeMessages, OrderOfTheRfc) {
  const auto o = parse_order(R"({
     "status": "valid", "expires": "2016-01-20T14:09:07.99Z",
     "identifiers": [{ "type": "dns", "value": "www.example.org" }],
     "authorizations": ["https://example.com/acme/authz/PAniVnsZcis",
                        "https://example.com/acme/authz/r4HqLzrSrpI"],
     "finalize": "https://example.com/acme/order/TOlocE8rfgo/finalize",
     "certificate": "https://example.com/acme/cert/mAt3xBGaobw"})");
  ASSERT_TRUE(o) << o.error().message;
  EXPECT_EQ(o->status, Status::valid);
  EXPECT_EQ(o->authorizations.size(), 2u);
  EXPECT_EQ(o->certificate, "https://example.com/acme/cert/mAt3xBGaobw");
  EXPECT_FALSE(parse_order(R"({"status":"odd","finalize":"https://a/f","authorizations":[]})"));
  EXPECT_FALSE(parse_order(R"({"status":"ready","authorizations":[]})"));
}

TEST(AcmeMessages, TokensThatAreNotBase64urlAreNotTaken) {
  const auto a = parse_authorization(R"({
     "status": "pending", "identifier": {"type":"dns","value":"WWW.Example.org"},
     "challenges": [
       {"type":"http-01","status":"pending","url":"https://a/1","token":"DGyRejmCefe7v4NfDGDKfA"},
       {"type":"http-01","status":"pending","url":"https://a/2","token":"../../etc/passwd"},
       {"type":"odd-01","strange":[1,2]}]})");
  ASSERT_TRUE(a) << a.error().message;
  EXPECT_EQ(a->name, "www.example.org");
  ASSERT_EQ(a->challenges.size(), 2u);
  EXPECT_EQ(a->challenges[0].token, "DGyRejmCefe7v4NfDGDKfA");
  EXPECT_EQ(a->challenges[1].token, "");
}

TEST(AcmeMessages, ProblemsAreSaidInPlainWords) {
  // RFC 8555 6.7.1.
  const auto p = parse_problem(R"({
     "type": "urn:ietf:params:acme:error:malformed", "detail": "Some of the identifiers\nrejected",
     "subproblems": [{"type": "urn:ietf:params:acme:error:rejectedIdentifier",
       "detail": "This CA will not issue for \"example.net\"",
       "identifier": {"type": "dns", "value": "example.net"}}]})");
  EXPECT_EQ(p.type, "malformed");
  EXPECT_NE(p.text.find("could not understand"), std::string::npos) << p.text;
  EXPECT_NE(p.text.find("example.net: the CA does not issue"), std::string::npos) << p.text;
  EXPECT_EQ(p.text.find('\n'), std::string::npos);
  EXPECT_NE(parse_problem("<html>").text.find("not JSON"), std::string::npos);
  EXPECT_LT(parse_problem(R"({"detail":")" + std::string(100'000, 'x') + "\"}").text.size(), 1000u);
}

TEST(AcmeMessages, RenewalInfoOfTheRfc) {
  // RFC 9773 4.2.
  const auto r = parse_renewal_info(R"({
     "suggestedWindow": {"start": "2025-01-02T04:00:00Z", "end": "2025-01-03T04:00:00Z"},
     "explanationURL": "https://acme.example.com/docs/ari"})");
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(r->start, 1735790400);
  EXPECT_EQ(r->end, 1735790400 + 86400);
  EXPECT_FALSE(parse_renewal_info(
      R"({"suggestedWindow":{"start":"2025-01-03T04:00:00Z","end":"2025-01-02T04:00:00Z"}})"));
  EXPECT_FALSE(parse_renewal_info(R"({"suggestedWindow":{"start":"soon","end":"later"}})"));
}

TEST(AcmeMessages, Times) {
  // RFC 3339 5.8.
  EXPECT_EQ(parse_time("1985-04-12T23:20:50.52Z"), 482196050);
  EXPECT_EQ(parse_time("1996-12-19T16:39:57-08:00"), 851042397);
  for (const std::string_view bad :
       {"", "1985-04-12", "1985-13-12T23:20:50Z", "1985-04-12T23:20:50", "1985-04-12T23:20:50.Z",
        "1985-04-12T23:20:50Zx", "1985-04-12T23:20:50+0100"}) {
    EXPECT_FALSE(parse_time(bad)) << bad;
  }
}

TEST(AcmeNames, HostNamesAlone) {
  for (const std::string_view good :
       {"a.test", "www.example.com", "xn--bcher-kva.example", "a1.b2"}) {
    EXPECT_TRUE(is_issuable_host(good, 2)) << good;
  }
  for (const std::string_view bad :
       {"", "localhost", "192.0.2.1", "1.2.3.4.5", "2001:db8::1", "[::1]", "*.a.test", "a..test",
        ".a.test", "a.test.", "-a.test", "a-.test", "a_b.test", "A.test", "a b.test",
        "a.b.c.d.e.f.g.h.i.j.test"}) {
    EXPECT_FALSE(is_issuable_host(bad, 2)) << bad;
  }
  EXPECT_FALSE(is_issuable_host(std::string(64, 'a') + ".test"));
  EXPECT_TRUE(is_certificate_name("*.example.com"));
  EXPECT_FALSE(is_certificate_name("*.*.example.com"));
}

}  // namespace
}  // namespace pqedge::acme
