// Upgrades and CONNECT over HTTP/1.1, from clients and toward backends (RFC 9110 7.8, 9.3.6).
#include <gtest/gtest.h>

#include <string>

#include "unit/wire/http1_support.h"

namespace pqedge::test {
namespace {

constexpr std::string_view kAsk =
    "GET /chat HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\nUpgrade: "
    "WebSocket\r\n\r\n";

std::string asked(std::string_view head) {
  ServerRig rig;
  rig.feed(head);
  return rig.exchanges.empty() ? "none" : std::string(rig.last().message.upgrade);
}

TEST(Http1Upgrade, WhatAsksForOne) {
  EXPECT_EQ(asked(kAsk), "websocket");
  EXPECT_EQ(asked("POST / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: SPDY/3.1\r\n"
                  "Content-Length: 0\r\n\r\n"),
            "spdy/3.1");
  for (const char* rest : {
           "Upgrade: websocket\r\n",                              // no Connection
           "Connection: upgrade\r\n",                             // no Upgrade
           "Connection: upgrade\r\nUpgrade: websocket, h2c\r\n",  // a choice
           "Connection: upgrade\r\nUpgrade: websocket\r\nUpgrade: x\r\n",
           "Connection: upgrade\r\nUpgrade: web socket\r\n",  // no protocol
           "Connection: upgrade\r\nUpgrade: a/b/c\r\n",
           "Connection: upgrade\r\nUpgrade:\r\n",
       }) {
    EXPECT_EQ(asked(std::string("GET / HTTP/1.1\r\nHost: a\r\n") + rest + "\r\n"), "") << rest;
  }
  EXPECT_EQ(asked("GET / HTTP/1.0\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"),
            "");
  // RFC 6455 4.1.
  EXPECT_EQ(
      asked("POST / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"), "");
  // With a body it is a request like others.
  EXPECT_EQ(asked("POST / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: tcp\r\n"
                  "Content-Length: 1\r\n\r\nx"),
            "");
}

void open_tunnel(Exchange& e, uint16_t status) {
  http::Response r(e.arena);
  r.status = status;
  r.tunnel = true;
  r.body = http::BodyKind::stream;
  r.fields.add("X-A", "1");
  e.stream->send_head(r, false);
}

TEST(Http1Tunnel, BytesBothWaysAndTheirEnds) {
  ServerRig rig;
  rig.feed(kAsk);
  rig.feed("early");  // kept until the answer
  EXPECT_EQ(rig.last().events, "head(end) ");
  EXPECT_EQ(rig.last().body, "");
  open_tunnel(rig.last(), 101);
  rig.settle();
  EXPECT_EQ(rig.output(),
            "HTTP/1.1 101 Switching Protocols\r\nX-A: 1\r\nConnection: Upgrade\r\n"
            "Upgrade: websocket\r\n\r\n");
  EXPECT_EQ(rig.last().body, "early");
  rig.feed("GET / HTTP/1.1\r\n\r\n");  // no request, whatever it looks like
  EXPECT_EQ(rig.last().body, "earlyGET / HTTP/1.1\r\n\r\n");
  EXPECT_EQ(rig.exchanges.size(), 1u);
  rig.last().stream->send_body(slice_of("back"));
  rig.settle();
  EXPECT_EQ(rig.output(), "back");
  rig.peer.end();
  rig.settle();
  EXPECT_EQ(rig.last().events, "head(end) end ");
  EXPECT_FALSE(rig.peer.output_ended);
  rig.last().stream->send_body(slice_of("more"));
  rig.last().stream->send_end(nullptr);
  rig.settle();
  EXPECT_EQ(rig.output(), "more");
  EXPECT_TRUE(rig.peer.output_ended);
  EXPECT_EQ(rig.last().events, "head(end) end finished ");
  EXPECT_TRUE(rig.closed);
}

TEST(Http1Tunnel, ConnectHasNoFraming) {
  ServerRig rig;
  rig.feed("CONNECT a:22 HTTP/1.1\r\nHost: a:22\r\n\r\nssh");
  open_tunnel(rig.last(), 200);
  rig.settle();
  EXPECT_EQ(rig.output(), "HTTP/1.1 200 OK\r\nX-A: 1\r\n\r\n");
  EXPECT_EQ(rig.last().body, "ssh");
}

TEST(Http1Tunnel, NoRequestAfterAConnectThatWasRefused) {
  ServerRig rig;
  rig.feed("CONNECT a:22 HTTP/1.1\r\nHost: a:22\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n");
  rig.last().answer(403, "no");
  rig.settle();
  EXPECT_NE(rig.output().find("Connection: close\r\n"), std::string::npos);
  EXPECT_EQ(rig.exchanges.size(), 1u);
}

TEST(Http1Tunnel, AnUpgradeThatWasRefusedIsARequest) {
  ServerRig rig;
  rig.feed(kAsk);
  rig.last().answer(404, "no");
  rig.feed("GET /next HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(rig.last().message.target, "/next");
}

TEST(Http1Tunnel, CreditHoldsTheClientBack) {
  auto limits = patient_limits();
  limits->body_window = 4;
  ServerRig rig(limits);
  rig.give_credit = false;
  rig.feed(kAsk);
  open_tunnel(rig.last(), 101);
  rig.feed("abcdef");
  EXPECT_EQ(rig.last().body, "abcd");
  rig.peer.end();
  rig.settle();
  EXPECT_EQ(rig.last().events, "head(end) ");  // the end comes after the bytes
  rig.last().stream->consumed(4);
  rig.settle();
  EXPECT_EQ(rig.last().body, "abcdef");
  EXPECT_EQ(rig.last().events, "head(end) end ");
}

// ---- toward a backend --------------------------------------------------------------------------

BackendExchange& ask(ClientRig& rig, std::string_view protocol = "websocket") {
  BackendExchange& e = rig.open();
  http::Request r(e.arena);
  r.method_text = "GET";
  r.method = http::Method::get;
  r.authority = "b";
  r.target = "/";
  r.upgrade = protocol;
  e.stream->send_request_head(r, true);
  rig.settle();
  return e;
}

constexpr std::string_view kSwitch =
    "HTTP/1.1 101 Go\r\nConnection: upgrade\r\nUpgrade: WebSocket\r\n\r\n";

TEST(Http1Tunnel, TowardABackend) {
  ClientRig rig;
  BackendExchange& e = ask(rig);
  EXPECT_EQ(rig.output(),
            "GET / HTTP/1.1\r\nHost: b\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n");
  rig.feed(std::string(kSwitch) + "first");
  EXPECT_EQ(e.events, "head(101) ");
  EXPECT_TRUE(e.message.tunnel);
  EXPECT_EQ(e.body, "first");
  e.stream->send_request_body(slice_of("hello"));
  rig.settle();
  EXPECT_EQ(rig.output(), "hello");
  rig.peer.end();
  rig.settle();
  EXPECT_EQ(e.events, "head(101) end ");
  EXPECT_FALSE(rig.closed);  // our direction goes on
  e.stream->send_request_body(slice_of("rest"));
  e.stream->send_request_end(nullptr);
  rig.settle();
  EXPECT_EQ(rig.output(), "rest");
  EXPECT_TRUE(rig.peer.output_ended);
  EXPECT_TRUE(rig.closed);
  EXPECT_EQ(rig.available, 0);
}

TEST(Http1Tunnel, WhatTheBackendHasNotTakenGoesOutFirst) {
  ClientRig rig;
  BackendExchange& e = ask(rig);
  rig.feed(kSwitch);
  rig.output();
  rig.peer.room = 0;
  e.stream->send_request_body(slice_of("slow"));
  e.stream->send_request_end(nullptr);
  rig.peer.end();
  rig.settle();
  EXPECT_EQ(e.events, "head(101) end ");
  EXPECT_FALSE(rig.closed);
  rig.peer.make_room(100);
  rig.settle();
  EXPECT_EQ(rig.output(), "slow");
  EXPECT_TRUE(rig.closed);
}

TEST(Http1Tunnel, AnswersThatAreNone) {
  struct Case {
    std::string_view protocol, answer;
  };
  for (const Case& c : {
           Case{"", kSwitch},  // not asked for
           Case{"websocket", "HTTP/1.1 101 Go\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n"},
           Case{"websocket", "HTTP/1.1 101 Go\r\nUpgrade: websocket\r\n\r\n"},
           Case{"websocket", "HTTP/1.1 101 Go\r\nConnection: upgrade\r\n\r\n"},
       }) {
    ClientRig rig;
    BackendExchange& e = ask(rig, c.protocol);
    rig.feed(c.answer);
    EXPECT_EQ(e.events, "reset(3) ") << c.answer;  // Abort::protocol_error
    EXPECT_TRUE(rig.closed);
  }
}

TEST(Http1Tunnel, AnotherAnswerIsAnOrdinaryOne) {
  ClientRig rig;
  BackendExchange& e = ask(rig);
  rig.feed("HTTP/1.1 426 X\r\nContent-Length: 2\r\n\r\nno");
  EXPECT_EQ(e.events, "head(426) end ");
  EXPECT_FALSE(e.message.tunnel);
  EXPECT_EQ(rig.available, 1);
}

TEST(Http1Tunnel, ABackendThatBreaksOff) {
  ClientRig rig;
  BackendExchange& e = ask(rig);
  rig.feed(kSwitch);
  rig.peer.fail();
  rig.settle();
  EXPECT_EQ(e.events, "head(101) reset(2) ");  // Abort::connection_lost
}

}  // namespace
}  // namespace pqedge::test
