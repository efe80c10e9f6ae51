// Flow control both ways, and how body bytes are handed over.
#include <gtest/gtest.h>

#include "http2_client.h"

namespace pqedge::http2::test {
namespace {

std::string pattern(size_t n) {
  std::string s(n, '\0');
  for (size_t i = 0; i < n; ++i) s[i] = static_cast<char>('a' + i * 7 % 26);
  return s;
}

TEST(Http2Flow, UploadIsBoundedByCredit) {  // RFC 9113 5.2
  Server server;
  server.keep_body = true;
  server.start();
  Client client(server);
  client.settings();
  const std::string body = pattern(1'000'000);
  client.post(body);
  client.exchange();
  Exchange& e = server.exchange(0);
  EXPECT_EQ(e.body.size(), server.limits->body_window);
  // Credit for what was passed on, and not before.
  server.keep_body = false;
  e.kept.clear();
  e.stream().consumed(server.limits->body_window);
  client.exchange();
  EXPECT_EQ(e.body, body);
  EXPECT_TRUE(e.ended);
}

TEST(Http2Flow, WindowUpdateWaitsForConsumed) {
  Server server;
  server.keep_body = true;
  server.manual = true;
  server.start();
  server.receive(client_preface() + frame(FrameType::headers, flag::kEndHeaders, 1, post_block()));
  server.take_sent();
  for (int i = 0; i < 10; ++i) {
    server.receive(frame(FrameType::data, 0, 1, std::string(16'384, 'x')));
  }
  EXPECT_TRUE(server.frames().empty());
  server.exchange(0).stream().consumed(163'840);
  server.turn();
  const auto frames = server.frames();
  ASSERT_EQ(frames.size(), 1u);  // more than half of the stream's window, not of the connection's
  EXPECT_EQ(frames[0].head.type, FrameType::window_update);
  EXPECT_EQ(frames[0].head.stream_id, 1u);
  EXPECT_EQ(frames[0].payload, be32(163'840));
}

// One stream that nobody reads leaves the connection's window to the others.
TEST(Http2Flow, StalledUploadDoesNotStallOthers) {
  Server server;
  server.keep_body = true;
  server.manual = true;
  server.start();
  Client client(server);
  client.settings();
  client.post(pattern(1'000'000));
  client.exchange();
  ASSERT_EQ(server.exchange(0).body.size(), server.limits->body_window);
  server.keep_body = false;
  const std::string body = pattern(3'000'000);
  client.post(body);
  client.exchange();
  EXPECT_EQ(server.exchange(1).body, body);
}

// What is never given back by a handler that is gone is given back by the connection.
TEST(Http2Flow, CreditOfResetStreamsReturnsToTheConnection) {
  Server server;
  server.keep_body = true;
  server.manual = true;
  server.start();
  Client client(server);
  client.settings();
  for (size_t i = 0; i < 20; ++i) {
    client.post(pattern(300'000));
    client.exchange();
    Exchange& e = server.exchange(i);
    ASSERT_EQ(e.body.size(), server.limits->body_window) << i;
    e.kept.clear();
    switch (i % 3) {
      case 0:
        e.stream().reset(http::Abort::internal_error);
        e.forget();
        break;
      case 1:
        e.ignore_body();
        e.answer(200);
        break;
      default:
        e.answer(200);
        e.ignore_body();
        break;
    }
    client.exchange();
    ASSERT_TRUE(e.finished || i % 3 == 0) << i;
  }
}

TEST(Http2Flow, UnwantedBodyEndsWithNoError) {  // RFC 9113 8.1
  Server server;
  server.manual = true;
  server.start();
  Client client(server);
  client.settings();
  const auto id = client.post(pattern(5'000'000));
  server.at_head = [](Exchange& e) {
    e.ignore_body();
    e.answer(200, "early");
  };
  client.exchange();
  EXPECT_EQ(client.answer(id).body, "early");
  EXPECT_TRUE(client.answer(id).ended);
  EXPECT_TRUE(client.answer(id).closed);
  EXPECT_EQ(client.answer(id).error, uint32_t{NGHTTP2_NO_ERROR});
  EXPECT_TRUE(server.exchange(0).finished);
  EXPECT_TRUE(server.exchange(0).body.empty());
}

// An early answer does not stop an upload that the handler still wants.
TEST(Http2Flow, AnswerBeforeTheEndOfTheRequest) {
  Server server;
  server.manual = true;
  server.start();
  server.at_head = [](Exchange& e) { e.answer(200, "early"); };
  Client client(server);
  client.settings();
  const std::string body = pattern(2'000'000);
  const auto id = client.post(body);
  client.exchange();
  EXPECT_EQ(server.exchange(0).body, body);
  EXPECT_TRUE(server.exchange(0).ended);
  EXPECT_TRUE(server.exchange(0).finished);
  EXPECT_EQ(client.answer(id).body, "early");
}

// Large pieces are handed over where they were read; small ones together.
TEST(Http2Flow, SmallPiecesOfATurnBecomeOneSlice) {
  Server server;
  server.keep_body = true;
  server.manual = true;
  server.start();
  server.receive(client_preface() + frame(FrameType::headers, flag::kEndHeaders, 1, post_block()));
  std::string frames;
  std::string body;
  for (int i = 0; i < 100; ++i) {
    body += pattern(20);
    frames += frame(FrameType::data, i == 99 ? flag::kEndStream : 0, 1, pattern(20));
  }
  server.receive(frames);
  Exchange& e = server.exchange(0);
  EXPECT_EQ(e.slices, 1);
  EXPECT_EQ(e.body, body);
  EXPECT_TRUE(e.ended);
}

TEST(Http2Flow, PiecesOfAnySizeKeepTheirOrder) {
  for (const size_t read : {size_t{1}, size_t{7}, size_t{4000}, size_t{5000}, SIZE_MAX}) {
    for (const bool keep : {false, true}) {
      Server server;
      server.keep_body = keep;
      server.manual = true;
      server.start();
      server.stream->largest_read = read;
      std::string bytes =
          client_preface() + frame(FrameType::headers, flag::kEndHeaders, 1, post_block());
      std::string body;
      const std::string source = pattern(16'384);
      for (size_t n = 1; n <= 16'384; n = n * 2 + n % 3) {
        bytes += frame(FrameType::data, 0, 1, source.substr(0, n));
        body += source.substr(0, n);
      }
      bytes += frame(FrameType::data, flag::kEndStream, 1, "end");
      body += "end";
      server.receive(bytes);
      while (!server.exchange(0).ended) server.turn();  // the read budget
      EXPECT_EQ(server.exchange(0).body, body) << read;
      std::string kept;
      for (const Slice& s : server.exchange(0).kept) kept += as_text(s.bytes());
      EXPECT_EQ(kept, keep ? body : "") << "a slice was written over";
    }
  }
}

// What unread small pieces keep alive is bounded by a chunk a stream, not one a piece.
TEST(Http2Flow, SmallPiecesDoNotPinAChunkEach) {
  Server server;
  server.keep_body = true;
  server.manual = true;
  server.start();
  server.receive(client_preface() + frame(FrameType::headers, flag::kEndHeaders, 1, post_block()));
  const size_t before = Chunk::live();
  for (int i = 0; i < 1000; ++i) {
    server.receive(frame(FrameType::data, 0, 1, "0123456789abcdef"));
  }
  EXPECT_EQ(server.exchange(0).body.size(), 16'000u);
  EXPECT_LE(Chunk::live() - before, 2u);
}

TEST(Http2Flow, PaddingIsGivenBack) {  // RFC 9113 6.1
  Server server;
  server.manual = true;
  server.start();
  Client client(server);
  client.settings();
  client.exchange();
  server.receive(frame(FrameType::headers, flag::kEndHeaders, 1, post_block()));
  std::string padded(1, '\xff');
  padded += std::string(100, 'x') + std::string(255, '\0');
  size_t body = 0;
  for (int i = 0; i < 20'000 && !server.closed; ++i) {
    server.receive(frame(FrameType::data, flag::kPadded, 1, padded));
    body += 100;
  }
  EXPECT_FALSE(server.closed);
  EXPECT_EQ(server.exchange(0).body.size(), body);
}

TEST(Http2Flow, DownloadWaitsForTheClient) {
  Server server;
  const std::string body = pattern(1'000'000);
  server.at_end = [&](Exchange& e) { e.answer(200, body); };
  server.start();
  Client client(server, false);
  client.settings();
  const auto id = client.get();
  client.exchange();
  EXPECT_EQ(client.answer(id).body.size(), 65'535u);  // RFC 9113 6.9.2
  EXPECT_EQ(server.exchange(0).stream().backlog(), body.size() - 65'535);
  for (int i = 0; i < 20; ++i) {
    nghttp2_submit_window_update(client.session(), 0, id, 50'000);
    nghttp2_submit_window_update(client.session(), 0, 0, 50'000);
    client.exchange();
  }
  EXPECT_EQ(client.answer(id).body, body);
  EXPECT_TRUE(server.exchange(0).finished);
}

TEST(Http2Flow, InitialWindowOfTheClient) {  // RFC 9113 6.9.2
  Server server;
  server.at_end = [&](Exchange& e) { e.answer(200, pattern(100)); };
  server.start();
  Client client(server);
  client.settings({{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 10}});
  const auto id = client.get();
  client.exchange();
  EXPECT_EQ(client.answer(id).body, pattern(100));
}

// Nothing is pulled out of nghttp2 beyond the transport's bound, and all comes in the end.
TEST(Http2Flow, TransportBackPressure) {
  Server server;
  const std::string body = pattern(3'000'000);
  server.manual = true;
  server.start();
  Client client(server);
  client.settings({{NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 10'000'000}});
  const auto id = client.get();
  nghttp2_submit_window_update(client.session(), 0, 0, 10'000'000);
  client.exchange();
  server.stream->room = 0;
  server.exchange(0).answer(200, body);
  server.turn();
  EXPECT_GT(server.stream->backlog(), 128u * 1024);
  EXPECT_LE(server.stream->backlog(), 128u * 1024 + 17'000);
  EXPECT_GT(server.exchange(0).stream().backlog(), 2'000'000u);
  EXPECT_FALSE(server.exchange(0).finished);
  while (!server.exchange(0).finished) {
    ASSERT_GT(server.stream->backlog(), 0u);
    server.stream->make_room(100'000);
    EXPECT_LE(server.stream->backlog(), 128u * 1024 + 17'000);
    client.receive();
  }
  client.receive();
  EXPECT_EQ(client.answer(id).body, body);
}

TEST(Http2Flow, WritableAtTheLowWaterMark) {
  Server server;
  size_t left = 2'000'000;
  const std::string piece = pattern(50'000);
  auto fill = [&](Exchange& e) {
    while (left > 0 && e.stream().backlog() <= 128 * 1024) {
      e.send(piece);
      left -= piece.size();
    }
    if (left == 0) e.stream().send_end(nullptr);
  };
  server.at_end = [&](Exchange& e) {
    e.start();
    fill(e);
  };
  server.at_writable = fill;
  server.start();
  Client client(server);
  client.settings();
  const auto id = client.get();
  client.exchange();
  EXPECT_EQ(client.answer(id).body.size(), 2'000'000u);
  EXPECT_TRUE(client.answer(id).ended);
  EXPECT_GT(server.exchange(0).writable, 5);
  EXPECT_LT(server.exchange(0).writable, 40);
}

// on_finished() comes when the transport has taken the last byte, not before.
TEST(Http2Flow, FinishedWhenTheKernelHasIt) {
  Server server;
  server.manual = true;
  server.start();
  Client client(server);
  client.settings();
  client.get();
  client.get();
  client.exchange();
  server.stream->room = 10;
  server.exchange(0).answer(200, "hello");
  server.exchange(1).answer(200, "hello");
  server.turn();
  EXPECT_FALSE(server.exchange(0).finished);
  const size_t half = server.stream->backlog() / 2;
  server.stream->make_room(half);
  server.stream->make_room(server.stream->backlog());
  EXPECT_TRUE(server.exchange(0).finished);
  EXPECT_TRUE(server.exchange(1).finished);
}

// A read budget a turn: one client that sends without end does not keep the loop to itself.
TEST(Http2Flow, ReadBudget) {
  http::Limits limits;
  limits.body_window = 1024 * 1024;
  limits.connection_window = 4 * 1024 * 1024;
  Server server(limits);
  server.manual = true;
  server.start();
  server.receive(client_preface() + frame(FrameType::headers, flag::kEndHeaders, 1, post_block()));
  std::string frames;
  for (int i = 0; i < 60; ++i) frames += frame(FrameType::data, 0, 1, std::string(16'384, 'x'));
  server.stream->receive(frames);
  EXPECT_LE(server.exchange(0).body.size(), 256u * 1024);
  while (server.exchange(0).body.size() < 60 * 16'384) server.turn();
}

}  // namespace
}  // namespace pqedge::http2::test
