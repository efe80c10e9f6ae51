// The server codec: requests in, answers out (RFC 9112, features P1, P20, S8).
#include <gtest/gtest.h>

#include <string>

#include "unit/wire/http1_support.h"

namespace pqedge::test {
namespace {

constexpr std::string_view kPlainGet = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
constexpr std::string_view kPlainOk = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

TEST(Http1Server, OneRequestAndItsAnswer) {
  ServerRig rig;
  rig.feed("GET /a?b HTTP/1.1\r\nHost: example.com\r\nX-CamelCase: 1\r\n\r\n");
  ASSERT_EQ(rig.exchanges.size(), 1u);
  Exchange& e = rig.last();
  EXPECT_EQ(e.events, "head(end) ");
  EXPECT_EQ(e.message.method, http::Method::get);
  EXPECT_EQ(e.message.method_text, "GET");
  EXPECT_EQ(e.message.target, "/a?b");
  EXPECT_EQ(e.message.authority, "example.com");
  EXPECT_EQ(e.message.scheme, "https");
  EXPECT_EQ(e.message.version, http::Version::http11);
  EXPECT_EQ(fields_text(e.message.fields), "Host: example.com\nX-CamelCase: 1\n");  // K68
  EXPECT_EQ(e.stream->stream_id(), 0u);
  EXPECT_EQ(e.stream->bytes_in(), 56u);
  e.answer(200, "ok");
  EXPECT_EQ(e.stream->bytes_out(), kPlainOk.size());
  rig.settle();
  EXPECT_EQ(rig.output(), kPlainOk);
  EXPECT_EQ(rig.peer.writes, 1);  // head and body in one gathered write
  EXPECT_EQ(e.events, "head(end) finished ");
  EXPECT_EQ(rig.connection->active_streams(), 0u);
  rig.feed(kPlainGet);
  EXPECT_EQ(rig.exchanges.size(), 2u);
  EXPECT_EQ(rig.last().stream->stream_id(), 1u);
}

TEST(Http1Server, HeadsArriveInPieces) {
  ServerRig rig;
  rig.peer.feed_bytewise("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc");
  rig.settle();
  EXPECT_EQ(rig.last().events, "head end ");
  EXPECT_EQ(rig.last().body, "abc");
  EXPECT_EQ(rig.last().message.body, http::BodyKind::length);
  EXPECT_EQ(rig.last().message.content_length, 3u);
}

TEST(Http1Server, HeadLargerThanAChunk) {
  ServerRig rig;
  const std::string cookie(50'000, 'c');
  rig.feed("GET / HTTP/1.1\r\nHost: a\r\nCookie: " + cookie + "\r\n\r\n" + std::string(kPlainGet));
  ASSERT_EQ(rig.exchanges.size(), 1u);
  EXPECT_EQ(rig.last().message.fields.get(http::Name::cookie), cookie);
  rig.last().answer(200, "ok");
  rig.settle();
  EXPECT_EQ(rig.exchanges.size(), 2u);
}

// RFC 9112 9.3.2: one at a time, in order.
TEST(Http1Server, PipelinedRequestsAreHandedOverOneByOne) {
  ServerRig rig;
  rig.feed(
      "POST /1 HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nxyGET /2 HTTP/1.1\r\nHost: "
      "a\r\n\r\n");
  rig.feed("GET /3 HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_EQ(rig.exchanges.size(), 1u);
  EXPECT_EQ(rig.last().body, "xy");
  for (int i = 1; i <= 3; ++i) {
    ASSERT_EQ(rig.exchanges.size(), static_cast<size_t>(i));
    EXPECT_EQ(rig.last().message.target, std::format("/{}", i));
    rig.last().answer(200, "ok");
    rig.settle();
    EXPECT_EQ(rig.output(), kPlainOk);
  }
  EXPECT_EQ(rig.exchanges.size(), 3u);
}

TEST(Http1Server, PipelinedInputIsBounded) {
  ServerRig rig;
  rig.feed(kPlainGet);
  for (int i = 0; i < 100; ++i) rig.peer.feed(std::string(1024, 'x'));
  EXPECT_TRUE(rig.peer.reading_paused);
  EXPECT_GE(rig.peer.input.size(), 67u);  // at most one chunk was taken
  rig.last().answer(200, "ok");
  rig.settle();
  EXPECT_EQ(rig.last().refused, 414);  // and reading went on
}

// RFC 9112 2.2.
TEST(Http1Server, OneEmptyLineBeforeARequestIsForgiven) {
  ServerRig rig;
  rig.feed("\r\n" + std::string(kPlainGet));
  EXPECT_EQ(rig.last().events, "head(end) ");
  rig.last().answer(200, "ok");
  rig.settle();
  rig.peer.feed_bytewise("\r\n" + std::string(kPlainGet));
  rig.settle();
  EXPECT_EQ(rig.exchanges.size(), 2u);
  EXPECT_EQ(ServerRig::verdict("\r\n\r\n" + std::string(kPlainGet)), 400);
}

// Each of these is refused with its status, the answer carries the close, and nothing after it is
// read as a request.
TEST(Http1Server, RefusesAndCloses) {
  const std::pair<std::string_view, uint16_t> inputs[] = {
      {"GET / HTTP/1.1\nHost: a\n\n", 400},
      {"GET / HTTP/1.1\r\nHost: a\r\nA: b\r\n c\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
       400},
      {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5, 5\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501},
      {"POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
      {"G/T / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET /\r\n", 400},  // HTTP/0.9
      {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
      {"\x16\x03\x01\x02", 400},
      {"GET / HTTP/1.1\r\nHost: a\r\nExpect: 200-ok\r\n\r\n", 417},
      {"GET * HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"\n", 400},
  };
  for (const auto& [bytes, status] : inputs) {
    ServerRig rig;
    rig.prepare = [](Exchange& e) { e.at_bad = [&e] { e.answer(e.refused, "no"); }; };
    rig.feed(std::string(bytes) + std::string(kPlainGet));
    ASSERT_EQ(rig.exchanges.size(), 1u) << bytes;
    EXPECT_EQ(rig.last().refused, status) << bytes << rig.last().reason;
    EXPECT_NE(rig.last().reason, "");
    const std::string answer = rig.output();
    EXPECT_NE(answer.find("\r\nConnection: close\r\n"), std::string::npos);
    EXPECT_TRUE(rig.peer.output_ended);
    EXPECT_FALSE(rig.peer.aborted);
    EXPECT_EQ(rig.last().events, std::format("bad({}) finished ", status));
    EXPECT_FALSE(rig.closed);  // lingers for the client to take it
    rig.peer.end();
    rig.settle();
    EXPECT_TRUE(rig.closed);
  }
}

TEST(Http1Server, LimitsOfTheHead) {
  EXPECT_EQ(ServerRig::verdict("GET /" + std::string(17'000, 'a') + " HTTP/1.1\r\n"), 414);
  EXPECT_EQ(ServerRig::verdict("GET / HTTP/1.1\r\nHost: a\r\nA: " + std::string(70'000, 'a')), 431);
  std::string many = "GET / HTTP/1.1\r\nHost: a\r\n";
  for (int i = 0; i < 128; ++i) many += "A: b\r\n";
  EXPECT_EQ(ServerRig::verdict(many), 431);
  ServerRig rig;
  rig.feed("GET /known HTTP/1.1\r\nHost: a\r\nA: " + std::string(70'000, 'a'));
  EXPECT_EQ(rig.last().message.target, "/known");  // for the log
}

// RFC 9112 3.2.2: the target's authority, not the field's.
TEST(Http1Server, AbsoluteFormAndConnect) {
  ServerRig rig;
  rig.feed("GET http://b.example:81/x?y HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(rig.last().message.authority, "b.example:81");
  EXPECT_EQ(rig.last().message.target, "/x?y");
  rig.last().answer(200, "ok");
  rig.feed("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(rig.last().message.target, "*");
  rig.last().answer(200, "ok");
  rig.feed("CONNECT c.example:443 HTTP/1.1\r\nHost: c.example:443\r\n\r\n");
  EXPECT_EQ(rig.last().message.method, http::Method::connect);
  EXPECT_EQ(rig.last().message.authority, "c.example:443");
  EXPECT_EQ(rig.last().message.target, "");
}

// ---- bodies in ----------------------------------------------------------------------------------
TEST(Http1Server, ChunkedBodyWithTrailers) {
  ServerRig rig;
  rig.feed(
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n"
      "0\r\nX-Sum: 5\r\n\r\n");
  Exchange& e = rig.last();
  EXPECT_EQ(e.events, "head end ");
  EXPECT_EQ(e.body, "abcde");
  EXPECT_EQ(e.message.body, http::BodyKind::stream);
  EXPECT_EQ(fields_text(e.message.trailers), "X-Sum: 5\n");
  e.answer(200, "ok");
  rig.feed(kPlainGet);
  EXPECT_EQ(rig.exchanges.size(), 2u);
}

// K36.
TEST(Http1Server, OddChunksEndTheConnection) {
  for (const char* bad : {"2;\nab", "2;a\rb", "2x\r\nab", "+2\r\nab", "0x2\r\nab",
                          "00000000000000002\r\nab", "2\r\nab\r\n0\r\n\n", "2\r\nab\r\n0\n\r\n"}) {
    ServerRig rig;
    rig.prepare = [](Exchange& e) { e.at_bad = [&e] { e.answer(e.refused, "no"); }; };
    rig.feed("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    rig.feed(bad + std::string(kPlainGet));
    EXPECT_EQ(rig.last().refused, 400) << bad;
    EXPECT_EQ(rig.exchanges.size(), 1u);
    EXPECT_TRUE(rig.peer.output_ended);
  }
}

TEST(Http1Server, BodyIsHandedOverByCredit) {
  auto limits = patient_limits();
  limits->body_window = 1000;
  ServerRig rig(limits);
  rig.give_credit = false;
  rig.feed("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n" + std::string(100, 'x'));
  Exchange& e = rig.last();
  EXPECT_EQ(e.body.size(), 100u);
  for (int i = 0; i < 999; ++i) rig.peer.feed(std::string(100, 'x'));
  EXPECT_EQ(e.body.size(), 1000u);
  EXPECT_TRUE(rig.peer.reading_paused);
  size_t credited = 0;
  while (credited < 100'000) {
    ASSERT_LE(e.body.size() - credited, 1000u);
    const size_t n = std::min<size_t>(e.body.size() - credited, 300);
    ASSERT_GT(n, 0u);
    e.stream->consumed(n);
    credited += n;
    rig.settle();
  }
  EXPECT_EQ(e.events, "head end ");
  EXPECT_EQ(e.body.size(), 100'000u);
}

TEST(Http1Server, BodyLargerThanTheLimitIs413) {
  auto limits = patient_limits();
  limits->max_body = 10;
  {
    ServerRig rig(limits);
    rig.feed("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\n");
    EXPECT_EQ(rig.last().events, "bad(413) ");
  }
  ServerRig rig(limits);
  rig.feed("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\na\r\n0123456789\r\n");
  EXPECT_EQ(rig.last().events, "head ");
  rig.feed("1\r\nx\r\n0\r\n\r\n");
  EXPECT_EQ(rig.last().events, "head bad(413) ");
  EXPECT_EQ(rig.last().body, "0123456789");
}

// K40: the client still uploads and must see the answer.
TEST(Http1Server, EarlyAnswerIsFollowedByALingeringClose) {
  ServerRig rig;
  rig.feed("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000000\r\n\r\n" +
           std::string(9000, 'x'));
  Exchange& e = rig.last();
  e.stream->ignore_request_body();
  e.answer(413, "large");
  rig.settle();
  EXPECT_EQ(e.events, "head finished ");
  EXPECT_NE(rig.output().find("Connection: close\r\n\r\nlarge"), std::string::npos);
  EXPECT_TRUE(rig.peer.output_ended);
  for (int i = 0; i < 100; ++i) rig.feed(std::string(30'000, 'x'));
  EXPECT_TRUE(rig.peer.input.empty());  // read and dropped
  EXPECT_FALSE(rig.peer.aborted);
  EXPECT_FALSE(rig.closed);
  rig.peer.end();
  rig.settle();
  EXPECT_TRUE(rig.closed);
}

TEST(Http1Server, LingeringIsBoundedInTimeAndBytes) {
  constexpr std::string_view kPut =
      "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000000\r\n\r\n";
  ServerRig rig;
  rig.feed(kPut);
  rig.last().stream->ignore_request_body();
  rig.last().answer(413, "large");
  rig.settle();
  for (int i = 0; i < 17 && !rig.closed; ++i) rig.feed(std::string(1024 * 1024, 'x'));
  EXPECT_TRUE(rig.closed);

  auto limits = patient_limits();
  limits->linger_timeout = 1;
  ServerRig quick(limits);
  quick.feed(kPut);
  quick.last().stream->ignore_request_body();
  quick.last().answer(413, "large");
  quick.settle();
  EXPECT_TRUE(quick.closed);
  EXPECT_NE(quick.output().find("large"), std::string::npos);
}

// A little of a body is read to its end: the connection lives on.
TEST(Http1Server, UnwantedShortBodyKeepsTheConnection) {
  ServerRig rig;
  rig.feed("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4000\r\n\r\n" + std::string(1000, 'x'));
  Exchange& e = rig.last();
  e.stream->ignore_request_body();
  e.answer(404, "none");
  rig.settle();
  EXPECT_EQ(rig.output(), "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnone");
  EXPECT_EQ(e.events, "head ");
  rig.feed(std::string(3000, 'x') + std::string(kPlainGet));
  EXPECT_EQ(e.events, "head finished ");
  ASSERT_EQ(rig.exchanges.size(), 2u);
  EXPECT_EQ(rig.last().events, "head(end) ");
}

// RFC 9110 10.1.1.
TEST(Http1Server, ExpectContinue) {
  constexpr std::string_view kPut =
      "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n";
  ServerRig rig;
  rig.feed(kPut);
  Exchange& e = rig.last();
  EXPECT_TRUE(e.message.expects_continue);
  http::Response go_on(e.arena);
  go_on.status = 100;
  e.stream->send_informational(go_on);
  rig.settle();
  EXPECT_EQ(rig.output(), "HTTP/1.1 100 Continue\r\n\r\n");
  rig.feed("abc");
  EXPECT_EQ(e.events, "head end ");
  e.answer(200, "ok");
  rig.settle();
  EXPECT_EQ(rig.output(), kPlainOk);

  ServerRig refused;  // nobody knows whether the body comes
  refused.feed(kPut);
  refused.last().stream->ignore_request_body();
  refused.last().answer(403, "no");
  refused.settle();
  EXPECT_NE(refused.output().find("Connection: close"), std::string::npos);
}

// RFC 9110 15.2: no 1xx to HTTP/1.0; several to HTTP/1.1.
TEST(Http1Server, InformationalAnswers) {
  ServerRig rig;
  rig.feed(kPlainGet);
  Exchange& e = rig.last();
  http::Response hints(e.arena);
  hints.status = 103;
  hints.fields.add("Link", "</a.css>; rel=preload");
  hints.fields.add("Content-Length", "5");  // RFC 9110 8.6: never in a 1xx
  e.stream->send_informational(hints);
  e.stream->send_informational(hints);
  rig.settle();
  EXPECT_EQ(rig.output(),
            "HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n"
            "HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n");
  e.answer(200, "ok");
  rig.settle();
  EXPECT_EQ(rig.output(), kPlainOk);

  ServerRig old;
  old.feed("GET / HTTP/1.0\r\n\r\n");
  old.last().stream->send_informational(hints);
  old.settle();
  EXPECT_EQ(old.output(), "");
}

}  // namespace
}  // namespace pqedge::test
