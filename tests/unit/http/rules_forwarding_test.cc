// What crosses from one connection to the next.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "http/protected_names.h"
#include "http/rules.h"
#include "unit/http/support.h"

namespace pqedge::http {
namespace {

using Lines = std::vector<std::string>;

// A request as it is sent to the backend, its fields sorted into ours and the client's by name.
class Forwarded {
 public:
  explicit Forwarded(const FieldList& fields, std::string_view peer = "192.0.2.7:5000",
                     const IdentitySettings& settings = quiet(), Version version = Version::http11,
                     bool early = false)
      : request(make_request(arena, fields, version)) {
    request.authority = "a.test:8443";
    net::ConnectionFacts facts = facts_of(peer);
    facts.early_data = facts.handshake_pending = early;
    const Identity identity = identify(request, facts, settings);
    id = identity.request_id;
    prepare_for_backend(request, facts, identity, settings);
  }
  // Nothing added but Via and the request ID, so that a test sees what is left.
  static IdentitySettings quiet() { return {.forwarded = false, .x_forwarded = false}; }
  static IdentitySettings trusting(std::string_view network) {
    IdentitySettings s;
    s.trusted_proxies.push_back(*net::Network::parse(network));
    return s;
  }
  // Without our own two.
  Lines left() const {
    Lines all = lines(request.fields);
    std::erase_if(all, [](const std::string& l) {
      return l.starts_with("Via: ") || l.starts_with("X-Request-ID: ");
    });
    return all;
  }
  Lines of(std::string_view name) const { return values(request.fields, name); }

  Arena arena;
  Request request;
  std::string_view id;
};

TEST(ForBackend, HopByHopFieldsStayBehind) {  // RFC 9110 7.6.1
  const Forwarded f({{"Accept", "*/*"},
                     {"Connection", "keep-alive, close, Upgrade"},
                     {"Keep-Alive", "timeout=5"},
                     {"Proxy-Connection", "keep-alive"},
                     {"Transfer-Encoding", "chunked"},
                     {"Upgrade", "websocket"},
                     {"HTTP2-Settings", "AAMAAABkAARAAAAAAAIAAAAA"},
                     {"Proxy-Authorization", "Basic eDp5"},
                     {"Content-Length", "5"},
                     {"Expect", "100-continue"},
                     {"Host", "a.test"},
                     {"X-Kept", "1"}});
  EXPECT_EQ(f.left(), (Lines{"Accept: */*", "X-Kept: 1"}));
}

TEST(ForBackend, FieldsThatConnectionNamesStayBehind) {
  const Forwarded f({{"Connection", "X-Hop, , cookie,close"},
                     {"connection", "x-second"},
                     {"X-HOP", "1"},
                     {"x-hop", "2"},
                     {"X-Second", "3"},
                     {"Cookie", "a=b"},
                     {"X-Kept", "4"}});
  EXPECT_EQ(f.left(), Lines{"X-Kept: 4"});
}

// K38: the client's options act on its own fields, before ours are added.
TEST(ForBackend, ConnectionCannotNameOursAway) {
  const Forwarded f({{"Connection",
                      "X-Forwarded-For, X-Forwarded-Host, X-Forwarded-Proto, X-Forwarded-Port, "
                      "X-Real-IP, Forwarded, Via, X-Request-ID, Host, Connection"},
                     {"X-Forwarded-For", "6.6.6.6"}},
                    "192.0.2.7:5000", IdentitySettings{});
  EXPECT_EQ(f.of("X-Forwarded-For"), Lines{"192.0.2.7"});
  EXPECT_EQ(f.of("X-Forwarded-Host"), Lines{"a.test:8443"});
  EXPECT_EQ(f.of("X-Forwarded-Proto"), Lines{"https"});
  EXPECT_EQ(f.of("X-Forwarded-Port"), Lines{"443"});
  EXPECT_EQ(f.of("X-Real-IP"), Lines{"192.0.2.7"});
  EXPECT_EQ(f.of("Forwarded"), Lines{"for=192.0.2.7;proto=https;host=\"a.test:8443\""});
  EXPECT_EQ(f.of("Via"), Lines{"1.1 pqedge"});
  EXPECT_EQ(f.of("X-Request-ID"), Lines{std::string(f.id)});
}

TEST(ForBackend, OfTeOnlyTrailersCross) {  // RFC 9110 10.1.4
  EXPECT_EQ(Forwarded({{"TE", "gzip;q=0.5, Trailers"}, {"Connection", "TE"}}).left(),
            Lines{"TE: trailers"});
  EXPECT_EQ(Forwarded({{"te", "gzip"}}).left(), Lines{});
}

TEST(ForBackend, CookieCrumbsBecomeOneField) {  // RFC 9113 8.2.3
  const Forwarded f({{"cookie", "a=1"}, {"accept", "*/*"}, {"cookie", "b=2; c=3"}, {"cookie", "d"}},
                    "192.0.2.7:5000", Forwarded::quiet(), Version::http2);
  EXPECT_EQ(f.left(), (Lines{"cookie: a=1; b=2; c=3; d", "accept: */*"}));
  const Forwarded one({{"Cookie", "a=1"}});
  EXPECT_EQ(one.left(), Lines{"Cookie: a=1"});
}

TEST(ForBackend, ViaIsAppendedWithTheVersionReceived) {  // RFC 9110 7.6.3
  EXPECT_EQ(Forwarded({{"Via", "1.0 fred"}}).of("via"), Lines{"1.0 fred, 1.1 pqedge"});
  EXPECT_EQ(Forwarded({}, "192.0.2.7:1", Forwarded::quiet(), Version::http3).of("via"),
            Lines{"3 pqedge"});
  EXPECT_EQ(Forwarded({{"Via", "1.0 a"}, {"Via", "1.1 b"}}).of("via"),
            (Lines{"1.0 a", "1.1 b, 1.1 pqedge"}));
}

TEST(ForBackend, EarlyDataIsSaid) {  // RFC 8470 5.1
  EXPECT_EQ(Forwarded({}, "192.0.2.7:1", Forwarded::quiet(), Version::http3, true).of("early-data"),
            Lines{"1"});
  EXPECT_EQ(
      Forwarded({{"Early-Data", "1"}}, "192.0.2.7:1", Forwarded::quiet(), Version::http3, true)
          .of("early-data"),
      Lines{"1"});
  EXPECT_EQ(Forwarded({{"Early-Data", "1"}}).of("early-data"), Lines{"1"});
  EXPECT_EQ(Forwarded({}).of("early-data"), Lines{});
}

// R5, K50. What the client says about itself is dropped, in every spelling that a CGI, WSGI or PHP
// backend takes for the same.
TEST(ForBackend, AClientsOwnIdentityIsDroppedInEverySpelling) {
  const Forwarded f({{"X-Forwarded-For", "6.6.6.6"},
                     {"X_Forwarded_For", "6.6.6.6"},
                     {"X.Forwarded.For", "6.6.6.6"},
                     {"x-forwarded_proto", "http"},
                     {"X-Forwarded-Prefix", "/x"},
                     {"X_FORWARDED_USER", "root"},
                     {"X-Forwarded", "for=6.6.6.6"},
                     {"X|Real!IP", "6.6.6.6"},
                     {"X_Real_IP", "6.6.6.6"},
                     {"Forwarded", "for=6.6.6.6"},
                     {"Forwarded_For", "6.6.6.6"},
                     {"Client-IP", "6.6.6.6"},
                     {"True-Client-IP", "6.6.6.6"},
                     {"X-Original-URL", "/admin"},
                     {"X_Request_ID", "6"},
                     {"X-Request-ID", "6"},
                     {"Content_Length", "6"},
                     {"Transfer_Encoding", "chunked"},
                     {"Proxy", "http://6.6.6.6"},
                     {"X_Kept", "1"},
                     {"X-Forwarder", "2"}});
  EXPECT_EQ(f.left(), (Lines{"X_Kept: 1", "X-Forwarder: 2"}));
  EXPECT_EQ(f.of("X-Request-ID"), Lines{std::string(f.id)});
}

TEST(ForBackend, ATrustedPeersListsAreAppendedTo) {
  const Forwarded f({{"X-Forwarded-For", "203.0.113.5"},
                     {"X-Forwarded-For", "198.51.100.2"},
                     {"X-Forwarded-Proto", "http"},
                     {"X-Forwarded-Host", "public.test"},
                     {"X-Forwarded-Port", "80"},
                     {"X-Forwarded-Prefix", "/app"},
                     {"X-Real-IP", "9.9.9.9"},
                     {"X_Forwarded_For", "6.6.6.6"},
                     {"Proxy", "http://6.6.6.6"},
                     {"Forwarded", "for=203.0.113.5;proto=http"},
                     {"X-Request-ID", "abc-123"}},
                    "192.0.2.7:5000", Forwarded::trusting("192.0.2.0/24"));
  EXPECT_EQ(f.of("X-Forwarded-For"), Lines{"203.0.113.5, 198.51.100.2, 192.0.2.7"});
  EXPECT_EQ(f.of("X-Forwarded-Proto"), Lines{"http"});
  EXPECT_EQ(f.of("X-Forwarded-Host"), Lines{"public.test"});
  EXPECT_EQ(f.of("X-Forwarded-Port"), Lines{"80"});
  EXPECT_EQ(f.of("X-Forwarded-Prefix"), Lines{"/app"});
  EXPECT_EQ(f.of("X-Real-IP"), Lines{"198.51.100.2"});
  EXPECT_EQ(f.of("Forwarded"),
            Lines{"for=203.0.113.5;proto=http, for=192.0.2.7;proto=https;host=\"a.test:8443\""});
  EXPECT_EQ(f.of("X-Request-ID"), Lines{"abc-123"});
  EXPECT_EQ(f.of("X_Forwarded_For"), Lines{});
  EXPECT_EQ(f.of("Proxy"), Lines{});
}

TEST(ForBackend, Ipv6NodesAreQuoted) {  // RFC 7239 6
  const Forwarded f({}, "[2001:db8::7]:5000", IdentitySettings{});
  EXPECT_EQ(f.of("Forwarded"), Lines{"for=\"[2001:db8::7]\";proto=https;host=\"a.test:8443\""});
  EXPECT_EQ(f.of("X-Forwarded-For"), Lines{"2001:db8::7"});
}

TEST(ForBackend, AUnixPeerHasNoAddress) {  // RFC 7239 6.2
  const Forwarded f({}, "/run/x", IdentitySettings{});
  EXPECT_EQ(f.of("Forwarded"), Lines{"for=unknown;proto=https;host=\"a.test:8443\""});
  EXPECT_EQ(f.of("X-Forwarded-For"), Lines{"unknown"});
  EXPECT_EQ(f.of("X-Real-IP"), Lines{});
}

TEST(ForBackend, AHostThatIsATokenIsNotQuoted) {
  Arena arena;
  Request r = make_request(arena, {});
  r.authority = "a.test";
  const auto facts = facts_of("192.0.2.7:1");
  prepare_for_backend(r, facts, identify(r, facts, {}), {});
  EXPECT_EQ(r.fields.get(Name::forwarded), "for=192.0.2.7;proto=https;host=a.test");
  Request old = make_request(arena, {}, Version::http10);  // without a host
  prepare_for_backend(old, facts, identify(old, facts, {}), {});
  EXPECT_EQ(old.fields.get(Name::forwarded), "for=192.0.2.7;proto=https");
  EXPECT_FALSE(old.fields.has(Name::x_forwarded_host));
}

TEST(ForBackend, WhatIsSwitchedOffIsStillDroppedFromClients) {
  const Forwarded untrusted({{"X-Forwarded-For", "6.6.6.6"}, {"Forwarded", "for=6.6.6.6"}});
  EXPECT_EQ(untrusted.left(), Lines{});
  IdentitySettings quiet = Forwarded::trusting("192.0.2.0/24");
  quiet.forwarded = quiet.x_forwarded = false;
  const Forwarded trusted({{"X-Forwarded-For", "6.6.6.6"}, {"Forwarded", "for=6.6.6.6"}},
                          "192.0.2.7:1", quiet);
  EXPECT_EQ(trusted.left(), (Lines{"X-Forwarded-For: 6.6.6.6", "Forwarded: for=6.6.6.6"}));
}

TEST(ForBackend, TheClientsConnectionIsTold) {
  IdentitySettings settings = Forwarded::trusting("198.51.100.0/24");
  settings.tls_fields = true;
  const FieldList claims = {
      {"X-TLS-Group", "claimed"}, {"X_TLS_Group", "x"}, {"X-HTTP-Version", "9"}};
  const Forwarded client(claims, "192.0.2.7:1", settings, Version::http2);
  EXPECT_EQ(client.of("X-HTTP-Version"), Lines{"HTTP/2"});
  EXPECT_EQ(client.of("X-TLS-Group"), Lines{""});  // of the facts, which name none here
  EXPECT_EQ(client.of("X_TLS_Group"), Lines{});
  // An edge in front of us speaks of the client; we would speak of the edge.
  const Forwarded edge(claims, "198.51.100.1:1", settings, Version::http2);
  EXPECT_EQ(edge.of("X-HTTP-Version"), Lines{"9"});
  EXPECT_EQ(edge.of("X-TLS-Group"), Lines{"claimed"});
  EXPECT_EQ(edge.of("X_TLS_Group"), Lines{});
}

// ---- answers ------------------------------------------------------------------------------------

Response make_response(Arena& arena, const FieldList& fields, uint16_t status = 200) {
  Response r(arena);
  r.status = status;
  add_all(r.fields, fields);
  return r;
}

TEST(ForClient, HopByHopFieldsStayBehind) {
  Arena arena;
  Response r = make_response(arena, {{"Server", "nginx"},
                                     {"Connection", "close, X-Hop"},
                                     {"X-Hop", "1"},
                                     {"Keep-Alive", "timeout=5"},
                                     {"Upgrade", "h2c"},
                                     {"Proxy-Authenticate", "Basic"},
                                     {"Transfer-Encoding", "chunked"},
                                     {"Alt-Svc", "h3=\":9999\""},
                                     {"Date", "Sun, 06 Nov 1994 08:49:37 GMT"},
                                     {"Trailer", "X-Sum"},
                                     {"Set-Cookie", "a=1"},
                                     {"Set-Cookie", "b=2"}});
  prepare_for_client(r, Version::http2, "h3=\":443\"", {});
  EXPECT_EQ(lines(r.fields), (Lines{"Server: nginx", "Date: Sun, 06 Nov 1994 08:49:37 GMT",
                                    "Trailer: X-Sum", "Set-Cookie: a=1", "Set-Cookie: b=2",
                                    "Via: 1.1 pqedge", "Alt-Svc: h3=\":443\""}));
}

TEST(ForClient, AltSvcOfTheBackendNeverPasses) {
  Arena arena;
  Response r = make_response(arena, {{"Alt-Svc", "clear"}, {"alt-svc", "h3=\":1\""}});
  prepare_for_client(r, Version::http3, "", {});
  EXPECT_FALSE(r.fields.has(Name::alt_svc));
}

TEST(ForClient, DateIsAddedWhenMissing) {  // RFC 9110 6.6.1
  Arena arena;
  Response r = make_response(arena, {});
  prepare_for_client(r, Version::http11, "", {});
  EXPECT_EQ(r.fields.get(Name::date).size(), 29u);
}

// RFC 9110 8.6: the length tells of the representation where no body follows; 1xx and 204 have
// none.
TEST(ForClient, ContentLengthStaysWhereItTellsSomething) {
  const auto length = [](uint16_t status, BodyKind body) {
    Arena arena;
    Response r = make_response(arena, {{"Content-Length", "7"}}, status);
    r.body = body;
    prepare_for_client(r, Version::http11, "", {});
    return r.fields.has(Name::content_length);
  };
  EXPECT_TRUE(length(200, BodyKind::none));  // HEAD
  EXPECT_TRUE(length(304, BodyKind::none));
  EXPECT_TRUE(length(200, BodyKind::length));
  EXPECT_FALSE(length(204, BodyKind::none));
  EXPECT_FALSE(length(103, BodyKind::none));
  EXPECT_FALSE(length(200, BodyKind::stream));
}

TEST(ForClient, Http10HearsOfNoTrailers) {
  Arena arena;
  Response r = make_response(arena, {{"Trailer", "X-Sum"}});
  prepare_for_client(r, Version::http10, "", {});
  EXPECT_FALSE(r.fields.has(Name::trailer));
}

TEST(CheckResponse, RefusesTwoLengthsAndOddStatuses) {
  const auto status = [](const FieldList& fields, uint16_t code = 200) {
    Arena arena;
    Response r = make_response(arena, fields, code);
    const auto ok = check_response(r);
    return ok ? 0 : int{ok.error().status};
  };
  EXPECT_EQ(status({{"Content-Length", "5"}}), 0);
  EXPECT_EQ(status({{"Content-Length", "5"}, {"Content-Length", "5"}}), 502);
  EXPECT_EQ(status({{"Content-Length", "5"}, {"Content-Length", "6"}}), 502);
  EXPECT_EQ(status({{"Content-Length", "5, 5"}}), 502);
  EXPECT_EQ(status({{"Content-Length", "-5"}}), 502);
  EXPECT_EQ(status({}, 99), 502);
  EXPECT_EQ(status({}, 600), 502);
  EXPECT_EQ(status({}, 599), 0);
  EXPECT_EQ(status({{"Connection", std::string(1025, ',')}}), 502);
}

// ---- trailers -----------------------------------------------------------------------------------

TEST(Trailers, CarryNothingThatFramesRoutesOrIdentifies) {  // RFC 9110 6.5.1
  Arena arena;
  Fields t(arena);
  add_all(t, {{"grpc-status", "0"},
              {"Transfer-Encoding", "chunked"},
              {"Content-Length", "5"},
              {"Host", "b.test"},
              {"Connection", "close"},
              {"Authorization", "Basic eDp5"},
              {"Cookie", "a=1"},
              {"Set-Cookie", "a=1"},
              {"Content-Type", "text/html"},
              {"Content-Encoding", "gzip"},
              {"Cache-Control", "no-store"},
              {"X-Forwarded-For", "6.6.6.6"},
              {"X_Forwarded_For", "6.6.6.6"},
              {"X.Real.IP", "6.6.6.6"},
              {"X-Forwarded-User", "root"},
              {"X-Checksum", "1"},
              {"ETag", "\"x\""},
              {"Server-Timing", "a;dur=1"}});
  strip_trailers(t);
  EXPECT_EQ(lines(t),
            (Lines{"grpc-status: 0", "X-Checksum: 1", "ETag: \"x\"", "Server-Timing: a;dur=1"}));
}

TEST(HopByHop, StripIsEnoughForInformationalAnswers) {
  Arena arena;
  Fields f(arena);
  add_all(f,
          {{"Link", "</a.css>; rel=preload"}, {"Connection", "X-A"}, {"X-A", "1"}, {"TE", "gzip"}});
  strip_hop_by_hop(f);
  EXPECT_EQ(lines(f), Lines{"Link: </a.css>; rel=preload"});
}

TEST(ProtectedNames, ExactAndFolded) {
  EXPECT_EQ(protection_of("x-real-ip"), Protection::exact);
  EXPECT_EQ(protection_of("X-REAL-IP"), Protection::exact);
  EXPECT_EQ(protection_of("x_real-ip"), Protection::folded);
  EXPECT_EQ(protection_of("x-forwarded-anything-at-all-however-long-it-is"), Protection::exact);
  EXPECT_EQ(protection_of("x_forwarded-anything-at-all-however-long-it-is"), Protection::folded);
  EXPECT_EQ(protection_of("x-envoy-external-address-2"), Protection::none);
  EXPECT_EQ(protection_of("x-requested-with"), Protection::none);
  EXPECT_EQ(protection_of("sec_fetch_mode"), Protection::none);
  EXPECT_EQ(protection_of(""), Protection::none);
  EXPECT_EQ(protection_of("!x"), Protection::none);
}

// K50: names that the configuration protects arrive in no spelling, from nobody.
TEST(ForBackend, ProtectedFieldsArriveInNoSpelling) {
  IdentitySettings settings = Forwarded::trusting("192.0.2.0/24");
  settings.forwarded = settings.x_forwarded = false;
  settings.protected_fields = {"X-Authenticated-User", "Referer"};
  const Forwarded f({{"X-Authenticated-User", "root"},
                     {"X_Authenticated_User", "root"},
                     {"x.authenticated.user", "root"},
                     {"X-Authenticated_User", "root"},
                     {"X_Forwarded_User", "root"},
                     {"referer", "x"},
                     {"XAuthenticatedUser", "1"},
                     {"X-Authenticated-User-Name", "2"}},
                    "192.0.2.7:5000", settings);
  EXPECT_EQ(f.left(), (Lines{"XAuthenticatedUser: 1", "X-Authenticated-User-Name: 2"}));
  Arena arena;
  Fields t(arena);
  add_all(t, {{"x_authenticated.user", "root"}, {"X_Real.IP", "1.2.3.4"}, {"X-Checksum", "7"}});
  strip_trailers(t, settings);
  EXPECT_EQ(lines(t), Lines{"X-Checksum: 7"});
}

}  // namespace
}  // namespace pqedge::http
