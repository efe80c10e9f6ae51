// The server codec: answers and their framing, persistence, ends and clocks (RFC 9112 6, 8, 9).
#include <gtest/gtest.h>

#include <string>

#include "unit/wire/http1_support.h"

namespace pqedge::test {
namespace {

constexpr std::string_view kGet = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

// Sends an answer of `body` pieces and returns what went out.
std::string answer(ServerRig& rig, uint16_t status, http::BodyKind kind, uint64_t length, bool end,
                   std::initializer_list<std::string_view> pieces = {},
                   const http::Fields* trailers = nullptr) {
  Exchange& e = rig.last();
  http::Response r(e.arena);
  r.status = status;
  r.body = kind;
  r.content_length = length;
  e.stream->send_head(r, end);
  for (const std::string_view piece : pieces) e.stream->send_body(slice_of(piece));
  if (!end) e.stream->send_end(trailers);
  rig.settle();
  return rig.output();
}

std::string answer_to(std::string_view request, uint16_t status, http::BodyKind kind,
                      uint64_t length, bool end, std::initializer_list<std::string_view> p = {}) {
  ServerRig rig;
  rig.feed(request);
  return answer(rig, status, kind, length, end, p);
}

using enum http::BodyKind;

TEST(Http1Answer, FramedByVersionMethodAndStatus) {
  EXPECT_EQ(answer_to(kGet, 200, length, 3, false, {"a", "bc"}),
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc");
  EXPECT_EQ(answer_to(kGet, 200, none, 0, true), "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(answer_to(kGet, 200, stream, 0, true), "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  // An empty piece is not the last chunk.
  EXPECT_EQ(
      answer_to(kGet, 200, stream, 0, false, {"abc", "", "de"}),
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
  const std::string large(5000, 'x');
  EXPECT_EQ(
      answer_to(kGet, 200, stream, 0, false, {large}),
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1388\r\n" + large + "\r\n0\r\n\r\n");
  // RFC 9110 8.6, RFC 9112 6.1: nothing that frames in 204; 304 and HEAD may tell a length.
  EXPECT_EQ(answer_to(kGet, 204, none, 0, true), "HTTP/1.1 204 No Content\r\n\r\n");
  EXPECT_EQ(answer_to(kGet, 304, none, 0, true), "HTTP/1.1 304 Not Modified\r\n\r\n");
  EXPECT_EQ(answer_to(kGet, 304, length, 5, true),
            "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n");
  constexpr std::string_view kHead = "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n";
  EXPECT_EQ(answer_to(kHead, 200, length, 5, true), "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
  EXPECT_EQ(answer_to(kHead, 200, stream, 0, true), "HTTP/1.1 200 OK\r\n\r\n");
  EXPECT_EQ(answer_to(kHead, 200, length, 5, false, {"abcde"}),  // a body that is none of its own
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
}

TEST(Http1Answer, HeadPassesTheLengthThatTheBackendGave) {
  ServerRig rig;
  rig.feed("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
  Exchange& e = rig.last();
  http::Response r(e.arena);
  r.status = 200;
  r.fields.add("Content-Length", "1234");
  e.stream->send_head(r, true);
  rig.settle();
  EXPECT_EQ(rig.output(), "HTTP/1.1 200 OK\r\nContent-Length: 1234\r\n\r\n");
  EXPECT_EQ(e.events, "head(end) finished ");
}

// RFC 9112 6.1, 9.3: HTTP/1.0 knows neither chunks nor persistence of itself.
TEST(Http1Answer, TowardHttp10) {
  constexpr std::string_view kOld = "GET / HTTP/1.0\r\n\r\n";
  constexpr std::string_view kKeep = "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n";
  EXPECT_EQ(answer_to(kOld, 200, length, 2, false, {"ab"}),
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nab");
  EXPECT_EQ(answer_to(kKeep, 200, length, 2, false, {"ab"}),
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nab");
  for (const auto request : {kOld, kKeep}) {
    ServerRig rig;
    rig.feed(request);
    EXPECT_EQ(answer(rig, 200, stream, 0, false, {"ab", "c"}),
              "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabc");
    EXPECT_TRUE(rig.peer.output_ended);  // the end of the body
  }
  ServerRig rig;
  rig.feed(kKeep);
  answer(rig, 200, length, 2, false, {"ab"});
  rig.feed(kKeep);
  EXPECT_EQ(rig.exchanges.size(), 2u);
}

TEST(Http1Answer, CloseDelimitedAnswerDoesNotWaitForTheRequest) {
  ServerRig rig;
  rig.feed("POST / HTTP/1.0\r\nContent-Length: 5\r\n\r\nab");
  answer(rig, 200, stream, 0, false, {"early"});
  EXPECT_TRUE(rig.peer.output_ended);
  EXPECT_EQ(rig.last().events, "head ");
  rig.feed("cde");
  EXPECT_EQ(rig.last().events, "head end finished ");
}

// RFC 9112 7.1.2; RFC 9110 6.5: only after chunks.
TEST(Http1Answer, Trailers) {
  Arena arena;
  http::Fields trailers(arena);
  trailers.add("X-Sum", "5");
  trailers.add("Content-Length", "9");
  ServerRig chunked;
  chunked.feed(kGet);
  EXPECT_EQ(
      answer(chunked, 200, stream, 0, false, {"ab"}, &trailers),
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\nX-Sum: 5\r\n\r\n");
  ServerRig fixed;
  fixed.feed(kGet);
  EXPECT_EQ(answer(fixed, 200, length, 2, false, {"ab"}, &trailers),
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab");
}

TEST(Http1Answer, CloseIsSaidAndDone) {
  ServerRig asked;
  asked.feed("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n" + std::string(kGet));
  EXPECT_NE(answer(asked, 200, none, 0, true).find("Connection: close\r\n"), std::string::npos);
  EXPECT_EQ(asked.exchanges.size(), 1u);  // what follows a close is not read (RFC 9112 9.6)
  EXPECT_TRUE(asked.peer.output_ended);

  ServerRig ours;
  ours.feed(kGet);
  ours.last().stream->close_after();
  EXPECT_NE(answer(ours, 200, none, 0, true).find("Connection: close\r\n"), std::string::npos);

  auto limits = patient_limits();
  limits->max_requests = 2;
  ServerRig worn(limits);
  worn.feed(kGet);
  EXPECT_EQ(answer(worn, 204, none, 0, true), "HTTP/1.1 204 No Content\r\n\r\n");
  worn.feed(kGet);
  EXPECT_EQ(answer(worn, 204, none, 0, true),
            "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
}

// RFC 9112 8: a cut answer never looks like a whole one.
TEST(Http1Answer, LengthThatDoesNotHoldBreaksTheConnection) {
  ServerRig shorter;
  shorter.feed(kGet);
  answer(shorter, 200, length, 5, false, {"abc"});
  EXPECT_TRUE(shorter.peer.aborted);
  EXPECT_EQ(shorter.last().events, "head(end) reset(7) ");
  EXPECT_TRUE(shorter.closed);

  ServerRig longer;
  longer.feed(kGet);
  EXPECT_EQ(answer(longer, 200, length, 2, false, {"abc"}).find("abc"), std::string::npos);
  EXPECT_TRUE(longer.peer.aborted);
  EXPECT_EQ(longer.last().events, "head(end) reset(7) ");

  ServerRig empty;
  empty.feed(kGet);
  answer(empty, 200, length, 5, true);
  EXPECT_TRUE(empty.peer.aborted);
}

TEST(Http1Answer, ResetBreaksTheConnectionAndIsTheLastWord) {
  for (const auto kind : {stream, length}) {
    ServerRig rig;
    rig.feed(kGet);
    Exchange& e = rig.last();
    http::Response r(e.arena);
    r.status = 200;
    r.body = kind;
    r.content_length = 77;
    e.stream->send_head(r, false);
    e.stream->send_body(slice_of("abc"));
    rig.settle();
    EXPECT_EQ(rig.output().find("0\r\n\r\n"), std::string::npos);
    e.stream->reset(http::Abort::internal_error);
    rig.settle();
    EXPECT_TRUE(rig.peer.aborted);
    EXPECT_TRUE(rig.closed);
    EXPECT_EQ(e.events, "head(end) ");  // nothing more
  }
}

TEST(Http1Answer, ResetFromInsideACall) {
  ServerRig rig;
  rig.prepare = [](Exchange& e) {
    e.at_body = [&e] {
      if (e.stream != nullptr) std::exchange(e.stream, nullptr)->reset(http::Abort::cancelled);
    };
  };
  rig.feed("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n");
  EXPECT_TRUE(rig.closed);
  EXPECT_EQ(rig.last().body, "a");
}

TEST(Http1Answer, ControlByteInAHeadIsNotSent) {
  ServerRig rig;
  rig.feed(kGet);
  Exchange& e = rig.last();
  http::Response r(e.arena);
  r.status = 200;
  r.fields.add("X", "a\r\nSet-Cookie: b");
  e.stream->send_head(r, true);
  rig.settle();
  EXPECT_EQ(rig.output(), "");
  EXPECT_TRUE(rig.peer.aborted);
  EXPECT_EQ(e.events, "head(end) reset(7) ");
}

TEST(Http1Answer, BackPressure) {
  ServerRig rig;
  rig.feed(kGet);
  rig.peer.room = 0;
  Exchange& e = rig.last();
  http::Response r(e.arena);
  r.status = 200;
  r.body = stream;
  e.stream->send_head(r, false);
  for (int i = 0; i < 10; ++i) e.stream->send_body(slice_of(std::string(30'000, 'x')));
  rig.settle();
  EXPECT_GT(e.stream->backlog(), 300'000u);
  EXPECT_EQ(e.events, "head(end) ");
  rig.peer.make_room(200'000);
  rig.settle();
  EXPECT_EQ(e.events, "head(end) ");
  rig.peer.make_room(60'000);
  rig.settle();
  EXPECT_EQ(e.events, "head(end) writable ");
  e.stream->send_end(nullptr);
  rig.settle();
  EXPECT_EQ(e.events, "head(end) writable ");  // finished is when the kernel has it all
  rig.peer.make_room(SIZE_MAX);
  rig.settle();
  EXPECT_EQ(e.events, "head(end) writable finished ");
}

// ---- ends of the connection ---------------------------------------------------------------------
// RFC 9112 9.6: a half-closed client still wants its answers.
TEST(Http1Server, HalfClosedClientIsAnswered) {
  ServerRig rig;
  rig.peer.feed(std::string(kGet) + std::string(kGet));
  rig.peer.end();
  rig.settle();
  EXPECT_EQ(answer(rig, 200, length, 2, false, {"ok"}),
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  ASSERT_EQ(rig.exchanges.size(), 2u);
  EXPECT_EQ(answer(rig, 200, length, 2, false, {"ok"}),
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
  EXPECT_TRUE(rig.closed);
  EXPECT_FALSE(rig.peer.aborted);
}

TEST(Http1Server, EndsOfTheInput) {
  ServerRig idle;
  idle.peer.end();
  idle.settle();
  EXPECT_TRUE(idle.closed);
  EXPECT_EQ(idle.close_reason, "");
  EXPECT_TRUE(idle.exchanges.empty());

  ServerRig head;
  head.feed("GET / HT");
  head.peer.end();
  head.settle();
  EXPECT_TRUE(head.closed);
  EXPECT_TRUE(head.exchanges.empty());

  ServerRig body;
  body.feed("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab");
  body.peer.end();
  body.settle();
  EXPECT_TRUE(body.closed);
  EXPECT_EQ(body.last().events, "head reset(1) ");

  ServerRig broken;
  broken.feed(kGet);
  broken.peer.fail();
  broken.settle();
  EXPECT_TRUE(broken.closed);
  EXPECT_EQ(broken.last().events, "head(end) reset(2) ");

  ServerRig vanished;
  vanished.feed(kGet);
  vanished.peer.stream->tell_error();
  vanished.settle();
  EXPECT_TRUE(vanished.closed);
  EXPECT_EQ(vanished.last().events, "head(end) reset(2) ");
}

TEST(Http1Server, AnIdleConnectionHoldsNoChunk) {
  const size_t before = Chunk::live();
  ServerRig rig;
  rig.feed("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc");
  rig.last().answer(200, "ok");
  rig.settle();
  EXPECT_EQ(rig.last().events, "head end finished ");
  EXPECT_EQ(Chunk::live(), before);
}

// ---- drain --------------------------------------------------------------------------------------
TEST(Http1Server, DrainAnnouncesTheCloseOnTheNextAnswer) {
  ServerRig rig;
  rig.feed(kGet);
  rig.connection->drain(3600 * kSecond);
  EXPECT_NE(answer(rig, 200, none, 0, true).find("Connection: close\r\n"), std::string::npos);
  EXPECT_TRUE(rig.peer.output_ended);
  rig.peer.end();
  rig.settle();
  EXPECT_TRUE(rig.closed);
}

TEST(Http1Server, DrainLingersForARequestUnderWay) {
  ServerRig idle;
  idle.connection->drain(0);
  idle.settle();
  EXPECT_TRUE(idle.closed);

  ServerRig rig;
  rig.feed(kGet);
  http::Response r(rig.last().arena);
  r.status = 200;
  rig.last().stream->send_head(r, true);  // without a close
  rig.connection->drain(3600 * kSecond);
  rig.settle();
  EXPECT_FALSE(rig.closed);  // the client may have sent another before it could know
  rig.output();
  rig.feed(kGet);
  EXPECT_NE(answer(rig, 200, none, 0, true).find("Connection: close\r\n"), std::string::npos);
}

TEST(Http1Server, CloseNowResetsAtOnce) {
  ServerRig rig;
  rig.feed(kGet);
  rig.connection->close_now();
  EXPECT_EQ(rig.last().events, "head(end) reset(2) ");
  rig.settle();
  EXPECT_TRUE(rig.closed);
  EXPECT_EQ(rig.last().events, "head(end) reset(2) ");
}

// ---- clocks -------------------------------------------------------------------------------------
TEST(Http1Server, SlowHeadIs408) {
  auto limits = patient_limits();
  limits->header_timeout = 1;
  ServerRig rig(limits);
  rig.settle();
  EXPECT_FALSE(rig.closed);  // nothing has begun
  rig.feed("\r\n");
  EXPECT_TRUE(rig.exchanges.empty());  // nor by an empty line
  rig.feed("GET /slow HTTP/1.1\r\nHo");
  ASSERT_EQ(rig.exchanges.size(), 1u);
  EXPECT_EQ(rig.last().events, "bad(408) ");
  EXPECT_EQ(rig.last().message.target, "/slow");
}

TEST(Http1Server, IdleConnectionIsClosedInSilence) {
  auto limits = patient_limits();
  limits->idle_timeout = 1;
  ServerRig rig(limits);
  rig.settle();
  EXPECT_TRUE(rig.closed);
  EXPECT_TRUE(rig.exchanges.empty());
  EXPECT_EQ(rig.output(), "");
}

TEST(Http1Server, SlowBodyIs408ButNotWhenTheWindowIsOurs) {
  auto limits = patient_limits();
  limits->body_timeout = 1;
  limits->body_window = 4;
  ServerRig slow(limits);
  slow.feed("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nab");
  EXPECT_EQ(slow.last().events, "head bad(408) ");

  ServerRig ours(limits);
  ours.give_credit = false;
  ours.feed("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nabcd");
  EXPECT_EQ(ours.last().events, "head ");
  ours.last().stream->consumed(4);
  ours.settle();
  EXPECT_EQ(ours.last().events, "head bad(408) ");
}

TEST(Http1Server, ClientThatTakesNothingIsCutOff) {
  auto limits = patient_limits();
  limits->send_timeout = 1;
  ServerRig rig(limits);
  rig.feed(kGet);
  rig.peer.room = 10;
  rig.last().answer(200, "ok");
  rig.settle();
  EXPECT_TRUE(rig.peer.aborted);
  EXPECT_EQ(rig.last().events, "head(end) reset(5) ");
  EXPECT_TRUE(rig.closed);
}

// An early answer is sent while the request goes on; both run to their ends.
TEST(Http1Server, BothDirectionsAtOnce) {
  ServerRig rig;
  rig.feed("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n");
  Exchange& e = rig.last();
  http::Response r(e.arena);
  r.status = 200;
  r.body = stream;
  e.stream->send_head(r, false);
  e.stream->send_body(slice_of("A"));
  rig.settle();
  EXPECT_EQ(rig.output(), "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nA\r\n");
  e.stream->send_end(nullptr);
  rig.settle();
  EXPECT_EQ(e.events, "head ");
  rig.feed("1\r\nb\r\n0\r\n\r\n" + std::string(kGet));
  EXPECT_EQ(e.events, "head end finished ");
  EXPECT_EQ(rig.exchanges.size(), 2u);
}

}  // namespace
}  // namespace pqedge::test
