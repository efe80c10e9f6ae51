// Tunnels without HTTP around them, on both sides.
#include <gtest/gtest.h>

#include <string>

#include "unit/wire/http1_support.h"
#include "wire/bytes/client.h"
#include "wire/bytes/server.h"

namespace pqedge::test {
namespace {

class BytesClient : public testing::Test, public http::ClientConnectionHandler {
 protected:
  BytesClient() {
    connection = bytes::make_client(*loop, std::make_unique<FakeStream>(*loop, peer),
                                    patient_limits(), *this);
    e.stream = &connection->open_stream(e);
    const http::Request request(e.arena);
    e.stream->send_request_head(request, true);
    settle();
  }
  void on_available() override { ADD_FAILURE() << "it takes no second tunnel"; }
  void on_client_connection_closed(std::string_view) override {
    closed = true;
    connection.reset();
  }
  void settle() { test::settle(*loop); }

  std::unique_ptr<net::Loop> loop = std::move(*net::Loop::create());
  FakePeer peer;
  BackendExchange e;
  std::unique_ptr<http::ClientConnection> connection;
  bool closed = false;
};

TEST_F(BytesClient, BothWays) {
  EXPECT_EQ(e.events, "head(200) ");
  EXPECT_TRUE(e.message.tunnel);
  EXPECT_EQ(peer.output, "");  // no head
  EXPECT_FALSE(e.stream->anything_sent());
  EXPECT_FALSE(connection->available());
  peer.feed("220 hi");
  settle();
  EXPECT_EQ(e.body, "220 hi");
  e.stream->send_request_body(slice_of("quit"));
  settle();
  EXPECT_EQ(peer.take_output(), "quit");
  EXPECT_TRUE(e.stream->anything_sent());
  e.stream->send_request_end(nullptr);
  settle();
  EXPECT_TRUE(peer.output_ended);
  EXPECT_FALSE(closed);
  peer.feed("bye");
  peer.end();
  settle();
  EXPECT_EQ(e.body, "220 hibye");
  EXPECT_EQ(e.events, "head(200) end ");
  EXPECT_TRUE(closed);
}

TEST_F(BytesClient, Broken) {
  peer.fail();
  settle();
  EXPECT_EQ(e.events, "head(200) reset(2,unanswered) ");
  EXPECT_TRUE(closed);
}

TEST_F(BytesClient, Cancelled) {
  e.stream->cancel();
  settle();
  EXPECT_TRUE(peer.aborted);
  EXPECT_TRUE(closed);
  EXPECT_EQ(e.events, "head(200) ");
}

class BytesServer : public testing::Test, public http::ServerConnectionHandler {
 protected:
  BytesServer() {
    connection = bytes::make_server(*loop, std::make_unique<FakeStream>(*loop, peer), facts,
                                    patient_limits(), *this);
  }
  ~BytesServer() override {
    if (connection) connection->close_now();
    settle();
  }
  http::ServerStreamHandler& on_stream(http::ServerStream& stream) override {
    e = std::make_unique<Exchange>(stream, true);
    return *e;
  }
  void on_closed(std::string_view) override {
    closed = true;
    connection.reset();
  }
  void settle() { test::settle(*loop); }
  void answer(bool tunnel) {
    http::Response r(e->arena);
    r.status = tunnel ? 200 : 502;
    r.tunnel = tunnel;
    r.body = http::BodyKind::stream;
    e->stream->send_head(r, false);
  }

  std::unique_ptr<net::Loop> loop = std::move(*net::Loop::create());
  FakePeer peer;
  net::ConnectionFacts facts;
  std::unique_ptr<Exchange> e;
  std::unique_ptr<http::ServerConnection> connection;
  bool closed = false;
};

TEST_F(BytesServer, BothWays) {
  settle();
  ASSERT_NE(e, nullptr);
  EXPECT_EQ(e->events, "head ");
  EXPECT_EQ(e->message.method, http::Method::connect);
  peer.feed("early");
  settle();
  EXPECT_EQ(e->body, "");  // nothing is read before the tunnel is there
  answer(true);
  settle();
  EXPECT_EQ(e->body, "early");
  e->stream->send_body(slice_of("back"));
  e->stream->send_end(nullptr);
  settle();
  EXPECT_EQ(peer.take_output(), "back");
  EXPECT_TRUE(peer.output_ended);
  EXPECT_FALSE(closed);
  peer.feed("late");
  peer.end();
  settle();
  EXPECT_EQ(e->body, "earlylate");
  EXPECT_EQ(e->events, "head end finished ");
  EXPECT_TRUE(closed);
}

TEST_F(BytesServer, RefusedWithoutAByte) {
  settle();
  answer(false);
  e->stream->send_body(slice_of("502 Bad Gateway"));
  e->stream->send_end(nullptr);
  settle();
  EXPECT_EQ(peer.output, "");
  EXPECT_EQ(e->events, "head finished ");
  EXPECT_TRUE(closed);
}

TEST_F(BytesServer, ASlowClient) {
  settle();
  answer(true);
  settle();
  peer.room = 0;
  e->stream->send_body(slice_of(std::string(Chunk::kCapacity, 'x')));
  e->stream->send_body(slice_of(std::string(Chunk::kCapacity, 'x')));
  e->stream->send_body(slice_of("x"));
  settle();
  EXPECT_EQ(e->stream->backlog(), 2 * Chunk::kCapacity + 1);
  peer.make_room(Chunk::kCapacity);
  settle();
  EXPECT_EQ(e->events, "head writable ");
}

}  // namespace
}  // namespace pqedge::test
