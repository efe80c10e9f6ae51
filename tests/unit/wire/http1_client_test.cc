// The client codec: requests out, answers in (RFC 9112), and when a connection may be used again.
#include <gtest/gtest.h>

#include <string>

#include "unit/wire/http1_support.h"

namespace pqedge::test {
namespace {

constexpr std::string_view kOk = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
constexpr std::string_view kChunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

TEST(Http1Client, RequestAndAnswerAndAgain) {
  ClientRig rig;
  BackendExchange& first = rig.send();
  EXPECT_EQ(rig.output(), "GET / HTTP/1.1\r\nHost: backend.test\r\n\r\n");
  EXPECT_TRUE(first.stream->anything_sent());
  EXPECT_EQ(first.stream->earlier_requests(), 0u);
  EXPECT_FALSE(rig.connection->available());
  rig.feed("HTTP/1.1 200 OK\r\nX-B: 1\r\nx-a: 2\r\nContent-Length: 2\r\n\r\nok");
  EXPECT_EQ(first.events, "head(200) end ");
  EXPECT_EQ(first.fields, "X-B: 1\nx-a: 2\nContent-Length: 2\n");
  EXPECT_EQ(first.body, "ok");
  EXPECT_EQ(rig.available, 1);
  ASSERT_TRUE(rig.connection->available());
  BackendExchange& second = rig.send();
  EXPECT_EQ(second.stream->earlier_requests(), 1u);
  rig.feed(kOk);
  EXPECT_EQ(second.events, "head(200) end ");
}

// RFC 9110 8.6; the issue: a GET without a body has no framing at all, whatever version it came by.
TEST(Http1Client, BodilessRequests) {
  for (const char* method : {"GET", "HEAD", "OPTIONS", "DELETE", "TRACE", "PROPFIND"}) {
    ClientRig rig;
    rig.send(method);
    EXPECT_EQ(rig.output(), std::string(method) + " / HTTP/1.1\r\nHost: backend.test\r\n\r\n");
  }
  for (const char* method : {"POST", "PUT", "PATCH"}) {
    ClientRig rig;
    rig.send(method);
    EXPECT_EQ(rig.output(), std::string(method) +
                                " / HTTP/1.1\r\nHost: backend.test\r\nContent-Length: 0\r\n\r\n");
  }
}

http::Request post(BackendExchange& e, http::BodyKind body, uint64_t length) {
  http::Request r(e.arena);
  r.method_text = "POST";
  r.method = http::Method::post;
  r.authority = "b";
  r.target = "/";
  r.body = body;
  r.content_length = length;
  return r;
}

TEST(Http1Client, RequestBodies) {
  ClientRig rig;
  BackendExchange& fixed = rig.open();
  fixed.stream->send_request_head(post(fixed, http::BodyKind::length, 3), false);
  fixed.stream->send_request_body(slice_of("ab"));
  fixed.stream->send_request_body(slice_of("c"));
  fixed.stream->send_request_end(nullptr);
  rig.settle();
  EXPECT_EQ(rig.output(), "POST / HTTP/1.1\r\nHost: b\r\nContent-Length: 3\r\n\r\nabc");
  rig.feed(kOk);
  BackendExchange& chunked = rig.open();
  chunked.stream->send_request_head(post(chunked, http::BodyKind::stream, 0), false);
  chunked.stream->send_request_body(slice_of("ab"));
  http::Fields trailers(chunked.arena);
  trailers.add("X-Sum", "1");
  chunked.stream->send_request_end(&trailers);
  rig.settle();
  EXPECT_EQ(rig.output(),
            "POST / HTTP/1.1\r\nHost: b\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n"
            "0\r\nX-Sum: 1\r\n\r\n");
}

// A body that does not fit its length must never look whole to the backend.
TEST(Http1Client, BodyThatDoesNotFitItsLengthBreaksTheConnection) {
  for (const char* body : {"ab", "abcd"}) {
    ClientRig rig;
    BackendExchange& e = rig.open();
    e.stream->send_request_head(post(e, http::BodyKind::length, 3), false);
    e.stream->send_request_body(slice_of(body));
    e.stream->send_request_end(nullptr);
    rig.settle();
    EXPECT_TRUE(rig.peer.aborted);
    EXPECT_TRUE(rig.closed);
    EXPECT_EQ(e.events, "reset(7) ");
  }
  ClientRig kept;
  kept.send();
  kept.feed(kOk);
  BackendExchange& e = kept.open();
  e.stream->send_request_head(post(e, http::BodyKind::length, 3), false);
  e.stream->send_request_end(nullptr);
  kept.settle();
  EXPECT_EQ(e.events, "reset(7) ");  // ours to answer for: not one to send again
}

TEST(Http1Client, AnswersByFraming) {
  ClientRig rig;
  BackendExchange& chunked = rig.send();
  rig.peer.feed_bytewise(std::string(kChunked) + "3\r\nabc\r\n0\r\nX-Sum: 1\r\n\r\n");
  rig.settle();
  EXPECT_EQ(chunked.events, "head(200) end ");
  EXPECT_EQ(chunked.body, "abc");
  EXPECT_EQ(fields_text(chunked.message.trailers), "X-Sum: 1\n");
  BackendExchange& head = rig.send("HEAD");
  rig.feed("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
  EXPECT_EQ(head.events, "head(200,end) ");
  EXPECT_EQ(head.message.content_length, 5u);
  BackendExchange& none = rig.send();
  rig.feed("HTTP/1.1 204 No Content\r\n\r\n");
  EXPECT_EQ(none.events, "head(204,end) ");
  BackendExchange& same = rig.send();
  rig.feed("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n");
  EXPECT_EQ(same.events, "head(304,end) ");
  BackendExchange& empty = rig.send();
  rig.feed("HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(empty.events, "head(200,end) ");
  EXPECT_EQ(rig.available, 5);
}

// RFC 9112 6.3 rule 8, 8: to the end of the connection, if that end is a good one.
TEST(Http1Client, CloseDelimitedBodies) {
  ClientRig rig;
  BackendExchange& e = rig.send();
  rig.feed("HTTP/1.0 200 OK\r\n\r\nabc");
  EXPECT_EQ(e.events, "head(200) ");
  EXPECT_EQ(e.message.body, http::BodyKind::stream);
  rig.peer.end();
  rig.settle();
  EXPECT_EQ(e.events, "head(200) end ");
  EXPECT_TRUE(rig.closed);
  EXPECT_EQ(rig.available, 0);

  for (const bool without_notify : {false, true}) {
    ClientRig cut;
    BackendExchange& broken = cut.send();
    cut.feed("HTTP/1.1 200 OK\r\n\r\nabc");
    cut.peer.fail(without_notify);
    cut.settle();
    EXPECT_EQ(broken.events, "head(200) reset(2) ");
  }
}

TEST(Http1Client, InformationalAnswers) {
  ClientRig rig;
  BackendExchange& e = rig.send();
  rig.feed("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" +
           std::string(kOk));
  EXPECT_EQ(e.events, "info(100) info(103) head(200) end ");
  EXPECT_EQ(e.fields, "Content-Length: 2\n");  // not the hints' fields

  ClientRig flood;
  BackendExchange& f = flood.send();
  for (int i = 0; i < 17 && !flood.closed; ++i) flood.feed("HTTP/1.1 102 Processing\r\n\r\n");
  EXPECT_TRUE(f.events.ends_with("reset(3) ")) << f.events;

  ClientRig upgrade;
  BackendExchange& u = upgrade.send();
  upgrade.feed("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n");
  EXPECT_EQ(u.events, "reset(3) ");

  ClientRig body;  // a 1xx has none: what follows it is no head
  BackendExchange& b = body.send();
  body.feed("HTTP/1.1 103 Early Hints\r\nContent-Length: 5\r\n\r\nhello" + std::string(kOk));
  EXPECT_EQ(b.events, "info(103) reset(3) ");
}

TEST(Http1Client, InvalidAnswersAreNotPassedOn) {
  for (const char* bad :
       {"garbage\r\n\r\n", "\r\nHTTP/1.1 200 OK\r\n\r\n", "HTTP/2.0 200 OK\r\n\r\n",
        "HTTP/1.1 2x0 OK\r\n\r\n", "HTTP/1.1 200 OK\nContent-Length: 0\n\n", "220 smtp ready",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 2,2\r\n\r\nok",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n", "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        "\x15\x03\x01"}) {
    ClientRig rig;
    BackendExchange& e = rig.send();
    rig.feed(bad);
    EXPECT_EQ(e.events, "reset(3) ") << bad;
    EXPECT_NE(e.detail, "");
    EXPECT_TRUE(rig.closed);
    EXPECT_TRUE(rig.peer.aborted);
  }
  for (const char* bad : {"2\nab", "x\r\n", "2\r\nabc", "2;\r\nab\r\n"}) {
    ClientRig rig;
    BackendExchange& e = rig.send();
    rig.feed(std::string(kChunked) + bad);
    EXPECT_TRUE(e.events.starts_with("head(200) ")) << bad;
    EXPECT_TRUE(e.events.ends_with("reset(3) ")) << bad;
  }
  ClientRig large;
  BackendExchange& e = large.send();
  large.feed("HTTP/1.1 200 OK\r\nA: " + std::string(70'000, 'a'));
  EXPECT_EQ(e.events, "reset(3) ");
}

TEST(Http1Client, CutAnswers) {
  for (const std::string& cut : {std::string("HTTP/1.1 200 O"),
                                 std::string("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab"),
                                 std::string(kChunked) + "2\r\nab\r\n"}) {
    ClientRig rig;
    BackendExchange& e = rig.send();
    rig.feed(cut);
    rig.peer.end();
    rig.settle();
    EXPECT_TRUE(e.events.ends_with("reset(2) ")) << e.events;
    EXPECT_TRUE(rig.closed);
  }
}

// K51: only a kept connection, or one that took nothing, is surely unanswered.
TEST(Http1Client, UnansweredIsToldOnlyWhenItIsSo) {
  ClientRig fresh;
  BackendExchange& a = fresh.send();
  fresh.peer.end();
  fresh.settle();
  EXPECT_EQ(a.events, "reset(2) ");
  EXPECT_TRUE(a.sent);

  ClientRig kept;
  kept.send();
  kept.feed(kOk);
  BackendExchange& b = kept.send();
  kept.peer.end();
  kept.settle();
  EXPECT_EQ(b.events, "reset(2,unanswered) ");
  EXPECT_TRUE(b.sent);

  ClientRig answered;
  answered.send();
  answered.feed(kOk);
  BackendExchange& c = answered.send();
  answered.feed("H");
  answered.peer.end();
  answered.settle();
  EXPECT_EQ(c.events, "reset(2) ");

  ClientRig stuck;
  stuck.peer.room = 0;
  BackendExchange& d = stuck.send();
  EXPECT_FALSE(d.stream->anything_sent());
  stuck.peer.fail();
  stuck.settle();
  EXPECT_EQ(d.events, "reset(2,unanswered) ");
  EXPECT_FALSE(d.sent);

  ClientRig partly;
  partly.peer.room = 1;
  BackendExchange& e = partly.send();
  EXPECT_TRUE(e.stream->anything_sent());
}

// What answers nothing could answer the next request: such a connection is never used again.
TEST(Http1Client, StrayBytesEndTheConnection) {
  ClientRig idle;
  idle.send();
  idle.feed(kOk);
  idle.feed("HTTP/1.1 408 Request Timeout\r\n\r\n");
  EXPECT_TRUE(idle.closed);

  ClientRig behind;
  BackendExchange& a = behind.send();
  behind.feed(std::string(kOk) + "x");
  EXPECT_EQ(a.events, "head(200) end ");
  EXPECT_EQ(a.body, "ok");
  EXPECT_EQ(behind.available, 0);
  EXPECT_TRUE(behind.closed);

  ClientRig early;  // it came before the request had left
  early.send();
  early.feed(kOk);
  BackendExchange& b = early.open();
  early.send_on(b, "POST");
  early.feed("HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(b.events, "reset(2,unanswered) ");
  EXPECT_FALSE(b.sent);

  ClientRig twice;
  BackendExchange& c = twice.send();
  twice.feed(std::string(kOk) + std::string(kOk));
  EXPECT_EQ(c.events, "head(200) end ");
  EXPECT_TRUE(twice.closed);
}

TEST(Http1Client, ReuseIsWhatTheAnswerAllows) {
  for (const auto& [answer, kept] : std::initializer_list<std::pair<std::string_view, bool>>{
           {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", true},
           {"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", false},
           {"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", false},
           {"HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n", true}}) {
    ClientRig rig;
    rig.send();
    rig.feed(answer);
    EXPECT_EQ(rig.available, kept ? 1 : 0) << answer;
    EXPECT_EQ(rig.closed, !kept) << answer;
  }
  ClientRig gone;
  gone.send();
  gone.feed(kOk);
  gone.peer.end();
  gone.settle();
  EXPECT_TRUE(gone.closed);
}

// An answer before the request was sent whole: it passes, and the request may go on or not.
TEST(Http1Client, EarlyAnswer) {
  ClientRig on;
  BackendExchange& a = on.open();
  a.stream->send_request_head(post(a, http::BodyKind::length, 4), false);
  a.stream->send_request_body(slice_of("ab"));
  on.settle();
  on.feed(kOk);
  EXPECT_EQ(a.events, "head(200) end ");
  EXPECT_FALSE(on.connection->available());
  a.stream->send_request_body(slice_of("cd"));
  a.stream->send_request_end(nullptr);
  on.settle();
  EXPECT_EQ(on.available, 1);

  ClientRig off;
  BackendExchange& b = off.open();
  b.stream->send_request_head(post(b, http::BodyKind::length, 4), false);
  off.settle();
  off.feed("HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(b.events, "head(413,end) ");
  b.stream->cancel();
  off.settle();
  EXPECT_TRUE(off.closed);
  EXPECT_EQ(b.events, "head(413,end) ");
}

TEST(Http1Client, CancelIsTheLastWord) {
  ClientRig rig;
  BackendExchange& e = rig.send();
  rig.feed(std::string(kChunked) + "2\r\nab\r\n");
  e.stream->cancel();
  rig.feed("2\r\ncd\r\n");
  EXPECT_EQ(e.events, "head(200) ");
  EXPECT_EQ(e.body, "ab");
  EXPECT_TRUE(rig.peer.aborted);
  EXPECT_TRUE(rig.closed);

  ClientRig inside;
  BackendExchange& i = inside.send();
  i.at_head = [&] { i.stream->cancel(); };
  inside.feed(kOk);
  EXPECT_EQ(i.events, "head(200) ");
  EXPECT_TRUE(inside.closed);
}

TEST(Http1Client, AnswersAreHandedOverByCredit) {
  auto limits = patient_limits();
  limits->body_window = 1000;
  ClientRig rig(limits);
  BackendExchange& e = rig.send();
  e.credit = false;
  rig.feed("HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n");
  for (int i = 0; i < 100; ++i) rig.peer.feed(std::string(100, 'x'));
  EXPECT_EQ(e.body.size(), 1000u);
  EXPECT_TRUE(rig.peer.reading_paused);
  while (e.body.size() < 10'000) {
    const size_t before = e.body.size();
    e.stream->response_consumed(500);
    rig.settle();
    ASSERT_GT(e.body.size(), before);
  }
  EXPECT_EQ(e.events, "head(200) end ");
}

TEST(Http1Client, BackPressureOnTheRequest) {
  ClientRig rig;
  rig.peer.room = 0;
  BackendExchange& e = rig.open();
  e.stream->send_request_head(post(e, http::BodyKind::stream, 0), false);
  for (int i = 0; i < 5; ++i) e.stream->send_request_body(slice_of(std::string(30'000, 'x')));
  rig.settle();
  EXPECT_GT(e.stream->request_backlog(), 150'000u);
  rig.peer.make_room(100'000);
  rig.settle();
  EXPECT_EQ(e.events, "writable ");
}

TEST(Http1Client, CloseWhenIdle) {
  ClientRig rig;
  rig.connection->close();
  EXPECT_FALSE(rig.connection->available());
  rig.settle();
  EXPECT_TRUE(rig.closed);
  EXPECT_FALSE(rig.peer.aborted);
}

}  // namespace
}  // namespace pqedge::test
