// How streams and connections end.
#include <gtest/gtest.h>

#include "http2_client.h"

namespace pqedge::http2::test {
namespace {

TEST(Http2End, AbortsAndTheirCodes) {  // RFC 9113 7
  const std::pair<http::Abort, uint32_t> cases[] = {
      {http::Abort::none, NGHTTP2_INTERNAL_ERROR},
      {http::Abort::cancelled, NGHTTP2_CANCEL},
      {http::Abort::connection_lost, NGHTTP2_INTERNAL_ERROR},
      {http::Abort::protocol_error, NGHTTP2_PROTOCOL_ERROR},
      {http::Abort::refused, NGHTTP2_REFUSED_STREAM},
      {http::Abort::timed_out, NGHTTP2_CANCEL},
      {http::Abort::too_large, NGHTTP2_ENHANCE_YOUR_CALM},
      {http::Abort::internal_error, NGHTTP2_INTERNAL_ERROR},
      {http::Abort::flood, NGHTTP2_ENHANCE_YOUR_CALM},
  };
  for (const auto& [why, code] : cases) {
    Server server;
    server.manual = true;
    server.start();
    Client client(server);
    client.settings();
    const auto id = client.get();
    client.exchange();
    Exchange& e = server.exchange(0);
    e.start();
    e.send("half");
    client.exchange();
    e.send(std::string(100'000, 'x'));
    e.stream().reset(why);
    e.forget();
    client.exchange();
    EXPECT_FALSE(client.answer(id).ended);
    EXPECT_TRUE(client.answer(id).closed);
    EXPECT_EQ(client.answer(id).error, code) << http::abort_name(why);
    EXPECT_EQ(client.answer(id).body, "half");  // what was queued is not sent any more
    EXPECT_EQ(server.connection->active_streams(), 0u);
  }
}

// Any call of the handler may reset its stream.
TEST(Http2End, ResetFromWithinEveryCall) {
  for (int where = 0; where < 6; ++where) {
    Server server;
    server.manual = true;
    const auto reset = [](Exchange& e) {
      e.stream().reset(http::Abort::refused);
      e.forget();
    };
    if (where == 0) server.at_stream = reset;
    if (where == 1) server.at_head = reset;
    if (where == 2) server.at_end = reset;
    if (where == 3) server.at_bad = reset;
    if (where == 4) {
      server.at_head = [](Exchange& e) {
        e.start();
        e.send(std::string(60'000, 'x'));
      };
      server.at_writable = reset;
    }
    if (where == 5) {
      server.at_head = [&](Exchange& e) {
        e.answer(200, "hello");
        reset(e);
      };
    }
    server.start();
    Client client(server);
    client.settings();
    client.get();
    client.post("body");
    client.post("body", {{"content-length", "4"}});
    client.get(where == 3 ? "/" + std::string(20'000, 'x') : "/");
    client.exchange();
    EXPECT_FALSE(server.closed);
  }
}

TEST(Http2End, ClientResets) {
  Server server;
  server.manual = true;
  server.start();
  Client client(server);
  client.settings();
  const auto id = client.get();
  client.exchange();
  server.exchange(0).start();
  server.exchange(0).send(std::string(200'000, 'x'));
  client.exchange();
  nghttp2_submit_rst_stream(client.session(), 0, id, NGHTTP2_CANCEL);
  client.exchange();
  EXPECT_EQ(server.exchange(0).reset, http::Abort::cancelled);
  EXPECT_EQ(server.connection->active_streams(), 0u);
  const auto next = client.get();
  server.manual = false;
  client.exchange();
  EXPECT_EQ(client.answer(next).status, "200");
}

TEST(Http2End, Drain) {  // RFC 9113 6.8
  Server server;
  server.manual = true;
  server.start();
  Client client(server);
  client.settings();
  const auto id = client.get();
  client.exchange();
  server.connection->drain(kSecond);
  // A request that was under way when the notice came is taken.
  const auto late = client.get();
  client.send();
  server.turn();
  client.exchange();
  ASSERT_EQ(client.goaways, (std::vector<uint32_t>{NGHTTP2_NO_ERROR, NGHTTP2_NO_ERROR}));
  EXPECT_EQ(client.goaway_last, (std::vector<int32_t>{0x7fffffff, late}));
  ASSERT_EQ(server.exchanges.size(), 2u);
  EXPECT_FALSE(server.closed);
  for (auto& e : server.exchanges) e->answer(200, "done");
  client.exchange();
  EXPECT_EQ(client.answer(id).body, "done");
  EXPECT_EQ(client.answer(late).body, "done");
  EXPECT_TRUE(server.stream->shut);
  server.stream->end_input();
  server.turn();
  EXPECT_TRUE(server.closed);
  EXPECT_EQ(server.close_reason, "");
}

TEST(Http2End, DrainOfAnIdleConnection) {
  Server server;
  server.start();
  server.receive(client_preface());
  server.take_sent();
  server.connection->drain(0);
  server.turn();
  auto frames = server.frames();
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0].payload, be32(0x7fffffff) + be32(0));
  EXPECT_EQ(frames[1].head.type, FrameType::ping);
  EXPECT_FALSE(server.stream->shut);
  server.receive(frame(FrameType::ping, flag::kAck, 0, frames[1].payload));
  frames = server.frames();
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].payload, be32(0) + be32(0));
  EXPECT_TRUE(server.stream->shut);
}

TEST(Http2End, DrainOfAClientThatDoesNotAnswer) {
  http::Limits limits;
  limits.linger_timeout = 0;
  Server server(limits);
  server.start();
  server.receive(client_preface());
  server.connection->drain(0);
  server.turn();
  server.take_sent();
  ASSERT_TRUE(server.run_until([&] { return server.closed; }));
  const auto frames = server.frames();
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(frames[0].head.type, FrameType::goaway);
  EXPECT_EQ(frames[0].error(), ErrorCode::no_error);
}

// After the final GOAWAY new streams are dropped, and what belongs to them too (RFC 9113 6.8).
TEST(Http2End, StreamsAfterGoaway) {
  Server server;
  server.manual = true;
  server.start();
  const auto headers = [](uint32_t id, uint8_t flags) {
    return frame(FrameType::headers, flags, id, post_block());
  };
  server.receive(client_preface() + headers(1, flag::kEndHeaders));
  server.connection->drain(0);
  server.turn();
  server.receive(frame(FrameType::ping, flag::kAck, 0, "12345678"));
  server.take_sent();
  server.receive(headers(3, flag::kEndHeaders));
  server.receive(frame(FrameType::data, 0, 3, "xyz"));
  server.receive(
      frame(FrameType::headers, flag::kEndHeaders | flag::kEndStream, 3, literal("x", "y")));
  EXPECT_EQ(server.exchanges.size(), 1u);
  EXPECT_FALSE(server.stream->shut);
  EXPECT_EQ(server.exchange(0).reset, http::Abort::none);
  // The open one goes on.
  server.receive(frame(FrameType::data, flag::kEndStream, 1, "body"));
  EXPECT_EQ(server.exchange(0).body, "body");
  server.exchange(0).answer(200);
  server.turn();
  EXPECT_TRUE(server.exchange(0).finished);
  EXPECT_TRUE(server.stream->shut);
}

TEST(Http2End, MaxRequests) {
  http::Limits limits;
  limits.max_requests = 3;
  Server server(limits);
  server.start();
  server.receive(client_preface());
  for (uint32_t id : {1, 3}) {
    server.receive(
        frame(FrameType::headers, flag::kEndHeaders | flag::kEndStream, id, get_block()));
  }
  for (const auto& f : server.frames()) EXPECT_NE(f.head.type, FrameType::goaway);
  server.receive(frame(FrameType::headers, flag::kEndHeaders | flag::kEndStream, 5, get_block()));
  server.turn();
  server.receive(frame(FrameType::ping, flag::kAck, 0, "12345678"));
  std::vector<std::string> goaways;
  for (const auto& f : server.frames()) {
    if (f.head.type == FrameType::goaway) goaways.push_back(f.payload);
  }
  EXPECT_EQ(goaways, (std::vector<std::string>{be32(0x7fffffff) + be32(0), be32(5) + be32(0)}));
  for (auto& e : server.exchanges) EXPECT_TRUE(e->finished);
  EXPECT_TRUE(server.stream->shut);
}

TEST(Http2End, Idle) {
  http::Limits limits;
  limits.idle_timeout = 30 * kMillisecond;
  limits.linger_timeout = 10 * kMillisecond;
  Server server(limits);
  server.start();
  server.receive(client_preface() +
                 frame(FrameType::headers, flag::kEndHeaders | flag::kEndStream, 1, get_block()));
  ASSERT_TRUE(server.run_until([&] { return server.closed; }));
  const auto frames = server.frames();
  ASSERT_FALSE(frames.empty());
  EXPECT_EQ(frames.back().head.type, FrameType::goaway);
  EXPECT_EQ(frames.back().payload, be32(1) + be32(0) + "idle");
  EXPECT_EQ(server.close_reason, "");
  EXPECT_TRUE(server.shut_at_close);
}

// An open stream keeps a connection that has nothing else to do.
TEST(Http2End, OpenStreamIsNotIdle) {
  http::Limits limits;
  limits.idle_timeout = 5 * kMillisecond;
  Server server(limits);
  server.manual = true;
  server.start();
  server.receive(client_preface() +
                 frame(FrameType::headers, flag::kEndHeaders | flag::kEndStream, 1, get_block()));
  const Nanos until = monotonic_now() + 40 * kMillisecond;
  server.run_until([&] { return monotonic_now() > until; });
  EXPECT_FALSE(server.closed);
  EXPECT_FALSE(server.stream->shut);
}

TEST(Http2End, ClientGoes) {
  Server server;
  server.manual = true;
  server.start();
  Client client(server);
  client.settings();
  client.get();
  client.post("body");
  client.exchange();
  server.stream->end_input();
  server.turn();
  EXPECT_TRUE(server.closed);
  for (auto& e : server.exchanges) EXPECT_EQ(e->reset, http::Abort::cancelled);
}

TEST(Http2End, TransportBreaks) {
  Server server;
  server.manual = true;
  server.start();
  Client client(server);
  client.settings();
  client.get();
  client.exchange();
  server.exchange(0).answer(200, "lost");
  server.stream->break_transport();
  EXPECT_EQ(server.exchange(0).reset, http::Abort::connection_lost);
  EXPECT_FALSE(server.closed);  // not from inside another call
  server.turn();
  EXPECT_TRUE(server.closed);
}

TEST(Http2End, CloseNowFromAnywhere) {
  for (int where = 0; where < 6; ++where) {
    Server server;
    server.manual = true;
    const auto close = [&](Exchange&) { server.connection->close_now(); };
    if (where == 1) server.at_stream = close;
    if (where == 2) server.at_head = close;
    if (where == 3) server.at_end = close;
    if (where == 4) server.at_bad = close;
    if (where == 5) {
      server.at_head = [](Exchange& e) {
        e.start();
        e.send(std::string(60'000, 'x'));
      };
      server.at_writable = close;
    }
    server.start();
    Client client(server);
    client.settings();
    client.get();
    client.post("body");
    client.get("/" + std::string(20'000, 'x'));
    client.send();
    if (where == 0) server.connection->close_now();
    server.turn();
    server.turn();
    EXPECT_TRUE(server.closed) << where;
    for (auto& e : server.exchanges) {
      EXPECT_TRUE(e->reset == http::Abort::connection_lost || e->finished) << where;
    }
  }
}

TEST(Http2End, DestroyedByItsOwner) {
  Server server;
  server.manual = true;
  server.start();
  Client client(server);
  client.settings();
  client.get();
  client.exchange();
  server.exchange(0).start();
  server.exchange(0).send("x");
  server.connection.reset();
  server.turn();
  EXPECT_EQ(server.exchange(0).reset, http::Abort::none);
}

// A finished answer that the transport still holds when the connection breaks was not delivered.
TEST(Http2End, AnswerHeldByTheTransport) {
  Server server;
  server.manual = true;
  server.start();
  Client client(server);
  client.settings();
  client.get();
  client.exchange();
  server.stream->room = 3;
  server.exchange(0).answer(200, "hello");
  server.turn();
  EXPECT_FALSE(server.exchange(0).finished);
  server.stream->break_transport();
  server.turn();
  EXPECT_EQ(server.exchange(0).reset, http::Abort::connection_lost);
  EXPECT_FALSE(server.exchange(0).finished);
}

// RFC 9113 5.4.2.
TEST(Http2End, AResetIsNotAnsweredByOne) {
  Server server;
  server.manual = true;
  server.start();
  server.receive(client_preface());
  server.receive(frame(FrameType::headers, flag::kEndHeaders | flag::kEndStream, 1, get_block()));
  server.receive(frame(FrameType::rst_stream, 0, 1, be32(8)));
  server.turn();
  EXPECT_EQ(server.exchange(0).reset, http::Abort::cancelled);
  for (const auto& f : server.frames()) EXPECT_NE(f.head.type, FrameType::rst_stream);
}

// A client's GOAWAY ends the connection when nothing runs any more (RFC 9113 6.8).
TEST(Http2End, ClientSaysGoaway) {
  Server server;
  server.manual = true;
  server.start();
  Client client(server);
  client.settings();
  const auto id = client.get();
  client.exchange();
  server.receive(frame(FrameType::goaway, 0, 0, be32(0) + be32(0)));
  EXPECT_FALSE(server.stream->shut);
  server.exchange(0).answer(200, "last");
  client.exchange();
  EXPECT_EQ(client.answer(id).body, "last");
  EXPECT_TRUE(server.exchange(0).finished);
  EXPECT_TRUE(server.stream->shut);
  server.stream->end_input();
  server.turn();
  EXPECT_EQ(server.close_reason, "");
}

}  // namespace
}  // namespace pqedge::http2::test
