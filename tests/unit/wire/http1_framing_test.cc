// What a head says of its body and its connection (RFC 9112 6, 9.3), and what is written.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "unit/wire/http1_support.h"
#include "wire/http1/framing.h"
#include "wire/http1/target.h"
#include "wire/http1/writer.h"

namespace pqedge::http1 {
namespace {

using Pairs = std::vector<std::pair<std::string_view, std::string_view>>;

std::expected<Framing, http::Refusal> request(const Pairs& fields,
                                              http::Version version = http::Version::http11) {
  Arena arena;
  http::Request r(arena);
  r.version = version;
  for (const auto& [name, value] : fields) r.fields.add(name, value);
  return request_framing(r);
}

uint16_t refused(const Pairs& fields, http::Version version = http::Version::http11) {
  const auto framing = request(fields, version);
  return framing ? 0 : framing.error().status;
}

std::expected<Framing, http::Refusal> response(uint16_t status, const Pairs& fields,
                                               http::Method method = http::Method::get,
                                               http::Version version = http::Version::http11) {
  Arena arena;
  http::Response r(arena);
  r.version = version;
  r.status = status;
  for (const auto& [name, value] : fields) r.fields.add(name, value);
  return response_framing(r, method);
}

// K35: every spelling with a length beside it is 400; alone, only "chunked" passes.
TEST(Http1Framing, TransferEncodingIsChunkedOrRefused) {
  const std::vector<std::pair<std::string_view, uint16_t>> spellings = {
      {"chunked", 0},        {"Chunked", 0},          {"CHUNKED", 0},
      {"chunked,", 400},     {",chunked", 400},       {"chunked, chunked", 400},
      {"chunked;q=1", 400},  {"\"chunked\"", 400},    {"xchunked", 400},
      {"chunked gzip", 400}, {"identity", 400},       {"", 400},
      {"gzip", 400},         {"chunked, gzip", 400},  {"gzip, chunked", 501},
      {"gzip,chunked", 501}, {"a\xff, chunked", 400}, {"gzip, , chunked", 400}};
  for (const auto& [value, status] : spellings) {
    EXPECT_EQ(refused({{"Transfer-Encoding", value}}), status) << value;
    for (const char* length : {"0", "5"}) {
      EXPECT_EQ(refused({{"Content-Length", length}, {"Transfer-Encoding", value}}), 400) << value;
      EXPECT_EQ(refused({{"transfer-encoding", value}, {"content-length", length}}), 400) << value;
    }
  }
  EXPECT_EQ(refused({{"Transfer-Encoding", "chunked"}, {"Transfer-Encoding", "chunked"}}), 400);
  EXPECT_EQ(refused({{"Transfer-Encoding", "gzip"}, {"Transfer-Encoding", "chunked"}}), 400);
  // RFC 9112 6.1: a faulty message.
  EXPECT_EQ(refused({{"Transfer-Encoding", "chunked"}}, http::Version::http10), 400);
}

// RFC 9112 6.2, 6.3 rule 5; RFC 9110 8.6.
TEST(Http1Framing, ContentLengthIsOneDecimalNumber) {
  for (const char* bad :
       {"", "+5", "-5", "5 5", "5,5", "5, 5", "0x5", "5.0", "1e3", "5a", "\xd9\xa5",
        "18446744073709551616", "99999999999999999999", "000000000000000000005"}) {
    EXPECT_EQ(refused({{"Content-Length", bad}}), 400) << bad;
  }
  EXPECT_EQ(refused({{"Content-Length", "5"}, {"Content-Length", "5"}}), 400);
  EXPECT_EQ(refused({{"Content-Length", "5"}, {"content-length", "6"}}), 400);
  EXPECT_EQ(request({{"Content-Length", "18446744073709551615"}})->length, UINT64_MAX);
  EXPECT_EQ(request({{"Content-Length", "5"}})->coding, Coding::length);
  EXPECT_EQ(request({{"Content-Length", "0"}})->coding, Coding::none);
  EXPECT_EQ(request({})->coding, Coding::none);
}

// RFC 9112 9.3.
TEST(Http1Framing, PersistenceByVersionAndConnection) {
  using http::Version;
  EXPECT_TRUE(request({})->keep_alive);
  EXPECT_FALSE(request({{"Connection", "close"}})->keep_alive);
  EXPECT_FALSE(request({{"Connection", "x, CLOSE"}})->keep_alive);
  EXPECT_FALSE(request({{"Connection", "keep-alive"}, {"Connection", "close"}})->keep_alive);
  EXPECT_TRUE(request({{"Connection", "closed"}})->keep_alive);
  EXPECT_FALSE(request({}, Version::http10)->keep_alive);
  EXPECT_TRUE(request({{"Connection", "Keep-Alive"}}, Version::http10)->keep_alive);
}

// RFC 9112 6.3.
TEST(Http1Framing, ResponsesByStatusMethodAndFields) {
  const Pairs length = {{"Content-Length", "5"}};
  const Pairs chunked = {{"Transfer-Encoding", "chunked"}};
  EXPECT_EQ(response(200, length)->coding, Coding::length);
  EXPECT_EQ(response(200, chunked)->coding, Coding::chunked);
  EXPECT_EQ(response(200, {})->coding, Coding::until_close);
  EXPECT_FALSE(response(200, {})->keep_alive);
  EXPECT_EQ(response(200, {{"Content-Length", "0"}})->coding, Coding::none);
  EXPECT_TRUE(response(200, {{"Content-Length", "0"}})->keep_alive);
  for (const uint16_t status : {103, 204, 304}) {
    EXPECT_EQ(response(status, length)->coding, Coding::none);
    EXPECT_EQ(response(status, chunked)->coding, Coding::none);
    EXPECT_TRUE(response(status, {})->keep_alive);
  }
  EXPECT_EQ(response(200, length, http::Method::head)->coding, Coding::none);
  EXPECT_EQ(response(200, length, http::Method::head)->length, 5u);
  EXPECT_EQ(response(200, {}, http::Method::head)->coding, Coding::none);
  EXPECT_TRUE(response(200, {}, http::Method::head)->keep_alive);
  // A backend that says two things says nothing.
  EXPECT_EQ(response(200, {{"Content-Length", "5"}, {"Content-Length", "5"}}).error().status, 502);
  EXPECT_EQ(
      response(200, {{"Content-Length", "5"}, {"Transfer-Encoding", "chunked"}}).error().status,
      502);
  EXPECT_EQ(response(200, {{"Transfer-Encoding", "gzip, chunked"}}).error().status, 502);
  EXPECT_EQ(response(200, chunked, http::Method::get, http::Version::http10).error().status, 502);
  EXPECT_FALSE(response(200, length, http::Method::get, http::Version::http10)->keep_alive);
}

// RFC 9112 3.2.
TEST(Http1Target, TheFourForms) {
  struct Case {
    std::string_view method, target, authority, result;
    bool good;
  };
  const Case cases[] = {
      {"GET", "/where?q=now", "", "/where?q=now", true},
      {"GET", "//x/y", "", "//x/y", true},
      {"GET", "http://www.example.org/pub/WWW/TheProject.html", "www.example.org",
       "/pub/WWW/TheProject.html", true},
      {"GET", "HTTPS://a:8443", "a:8443", "/", true},
      {"GET", "http://a?b/c", "a", "/?b/c", true},
      {"OPTIONS", "http://www.example.org:8001", "www.example.org:8001", "*", true},
      {"OPTIONS", "*", "", "*", true},
      {"GET", "*", "", "", false},
      {"GET", "ftp://a/", "", "", false},
      {"GET", "http:/a", "", "", false},
      {"GET", "http:///a", "", "", false},
      {"GET", "a/b", "", "", false},
      {"GET", "?a", "", "", false},
      {"CONNECT", "www.example.com:80", "www.example.com:80", "", true},
      {"CONNECT", "[::1]:80", "[::1]:80", "", true},
      {"CONNECT", "www.example.com", "", "", false},
      {"CONNECT", "www.example.com:", "", "", false},
      {"CONNECT", "www.example.com:65536", "", "", false},
      {"CONNECT", ":80", "", "", false},
      {"CONNECT", "/", "", "", false},
      {"CONNECT", "http://a:80", "", "", false},
  };
  for (const Case& c : cases) {
    Arena arena;
    http::Request r(arena);
    r.method_text = c.method;
    r.method = http::parse_method(c.method);
    r.target = c.target;
    const auto ok = split_target(r);
    EXPECT_EQ(ok.has_value(), c.good) << c.method << " " << c.target;
    if (!c.good || !ok) continue;
    EXPECT_EQ(r.authority, c.authority) << c.target;
    EXPECT_EQ(r.target, c.result) << c.target;
  }
}

TEST(Http1Writer, ResponseHeadKeepsFieldsAndMakesItsOwnFraming) {
  Arena arena;
  http::Response r(arena);
  r.status = 200;
  r.fields.add("X-CamelCase", "1");
  r.fields.add("Set-Cookie", "a=b");
  r.fields.add("Connection", "X-CamelCase, close");
  r.fields.add("Transfer-Encoding", "gzip");
  r.fields.add("Content-Length", "77");
  r.fields.add("Keep-Alive", "timeout=5");
  r.fields.add("set-cookie", "c=d");
  Framing framing{.coding = Coding::length, .length = 5, .has_length = true};
  EXPECT_EQ(as_text(write_response_head(r, framing, Persistence::silent)),
            "HTTP/1.1 200 OK\r\nX-CamelCase: 1\r\nSet-Cookie: a=b\r\nset-cookie: c=d\r\n"
            "Content-Length: 5\r\n\r\n");
  framing = {.coding = Coding::chunked};
  EXPECT_EQ(as_text(write_response_head(r, framing, Persistence::close)),
            "HTTP/1.1 200 OK\r\nX-CamelCase: 1\r\nSet-Cookie: a=b\r\nset-cookie: c=d\r\n"
            "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n");
}

TEST(Http1Writer, RequestHeadBeginsWithHost) {
  Arena arena;
  http::Request r(arena);
  r.method_text = "GET";
  r.method = http::Method::get;
  r.target = "/a?b";
  r.authority = "example.com:8443";
  r.fields.add("accept", "*/*");
  r.fields.add("Host", "other.example");
  r.fields.add("te", "trailers");
  EXPECT_EQ(as_text(write_request_head(r, {})),
            "GET /a?b HTTP/1.1\r\nHost: example.com:8443\r\naccept: */*\r\n"
            "TE: trailers\r\nConnection: TE\r\n\r\n");
}

// A value that would end its line is never written, whoever made it (RFC 9112 11.1).
TEST(Http1Writer, WritesNoControlByte) {
  const std::string_view bad_texts[] = {"a\r\nX: y", "a\nb", "a\rb", std::string_view("a\0b", 3),
                                        "long enough to fill a block or two\r\nX: y"};
  for (const std::string_view bad : bad_texts) {
    Arena arena;
    http::Request r(arena);
    r.method_text = "GET";
    r.target = "/";
    r.authority = "a";
    r.fields.add("X", bad);
    EXPECT_TRUE(write_request_head(r, {}).empty());
    r.fields.clear();
    r.target = bad;
    EXPECT_TRUE(write_request_head(r, {}).empty());
    r.target = "/a b";
    EXPECT_TRUE(write_request_head(r, {}).empty());
    r.target = "/";
    r.fields.push({bad, "x"});
    EXPECT_TRUE(write_request_head(r, {}).empty());
    http::Response answer(arena);
    answer.status = 200;
    answer.fields.add("X", bad);
    EXPECT_TRUE(write_response_head(answer, {}, Persistence::silent).empty());
  }
}

TEST(Http1Writer, HeadsLargerThanTheBuffer) {
  Arena arena;
  http::Response r(arena);
  r.status = 200;
  std::string expected = "HTTP/1.1 200 OK\r\n";
  const std::string value(3000, 'v');
  for (int i = 0; i < 20; ++i) {
    r.fields.add("X-Long", value);
    expected += "X-Long: " + value + "\r\n";
  }
  EXPECT_EQ(as_text(write_response_head(r, {}, Persistence::silent)), expected + "\r\n");
}

}  // namespace
}  // namespace pqedge::http1
