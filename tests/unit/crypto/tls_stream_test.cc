// The stream after the handshake: data both ways, ends, pauses, floods, and its manners.
#include <gtest/gtest.h>
#include <openssl/err.h>
#include <sys/socket.h>

#include <numeric>

#include "base/counters.h"
#include "unit/crypto/tls_pair.h"

namespace pqedge::crypto::testing {
namespace {

std::string pattern(size_t size) {
  std::string s(size, '\0');
  uint32_t x = 12345;
  for (char& c : s) c = static_cast<char>((x = x * 1664525 + 1013904223) >> 24);
  return s;
}

// A slice over memory that outlives the test's stream.
Slice over(const std::string& s, size_t at, size_t n) {
  return Slice{{}, reinterpret_cast<const uint8_t*>(s.data()) + at, n};
}

class TlsStreamTest : public ::testing::Test {
 protected:
  void open(bool tcp = false) {
    pair = std::make_unique<Pair>(make_contexts(), Client::Options{}, AlpnList{"http/1.1"}, tcp);
    ASSERT_TRUE(pair->handshake());
    pair->settle();
    pair->client->data_records.clear();
  }
  Client& client() { return *pair->client; }
  Server& server() { return *pair->server; }
  net::Stream& stream() { return *pair->server->stream; }

  std::unique_ptr<Pair> pair;
};

TEST_F(TlsStreamTest, SmallWritesOfATurnShareARecord) {
  open();
  const std::string body = "body";
  stream().write_copy(as_bytes("head "));
  stream().write(over(body, 0, 4));
  stream().write_copy(as_bytes(" trailer"));
  EXPECT_EQ(stream().backlog(), 17u);
  ASSERT_TRUE(pair->run([&] { return client().received == "head body trailer"; }));
  EXPECT_EQ(stream().backlog(), 0u);
  // 17 bytes, the content type and the tag (RFC 8446 5.2).
  EXPECT_EQ(client().data_records, std::vector<size_t>{17 + 1 + 16});
}

TEST_F(TlsStreamTest, RecordsAreFilled) {
  open();
  const std::string body = pattern(40'000);
  stream().write_copy(as_bytes("head "));
  stream().write(over(body, 0, 20'000));
  stream().write(over(body, 20'000, 20'000));
  ASSERT_TRUE(pair->run([&] { return client().received.size() == 40'005; }));
  EXPECT_EQ(client().received, "head " + body);
  const std::vector<size_t> sizes = {16384 + 17, 16384 + 17, 40'005 - 2 * 16384 + 17};
  EXPECT_EQ(client().data_records, sizes);
}

TEST_F(TlsStreamTest, FlushSendsAtOnce) {
  open();
  stream().write_copy(as_bytes("now"));
  stream().flush();
  EXPECT_EQ(stream().backlog(), 0u);
  client().step();
  EXPECT_EQ(client().received, "now");
}

TEST_F(TlsStreamTest, DownloadWithBackPressure) {
  open();
  const std::string body = pattern(8 * 1024 * 1024);
  constexpr size_t kHigh = 256 * 1024;
  constexpr size_t kLow = 64 * 1024;
  stream().notify_below(kLow);
  size_t at = 0;
  size_t most = 0;
  int refills = 0;
  const auto fill = [&] {
    while (at < body.size() && stream().backlog() < kHigh) {
      const size_t n = std::min<size_t>(30'000, body.size() - at);
      stream().write(over(body, at, n));
      at += n;
    }
  };
  fill();
  // The client does not read: the backlog stays, and nobody is told that it fell.
  client().reading = false;
  for (int i = 0; i < 50; ++i) pair->loop->run_once(0);
  fill();
  for (int i = 0; i < 50; ++i) pair->loop->run_once(0);
  EXPECT_GT(stream().backlog(), kLow);
  const int calls_while_stalled = server().writable_calls;
  for (int i = 0; i < 50; ++i) pair->loop->run_once(0);
  EXPECT_EQ(server().writable_calls, calls_while_stalled);
  client().reading = true;
  int seen = server().writable_calls;
  ASSERT_TRUE(pair->run([&] {
    most = std::max(most, stream().backlog());
    if (server().writable_calls != seen) {
      seen = server().writable_calls;
      EXPECT_LE(stream().backlog(), kLow);
      ++refills;
      fill();
    }
    return client().received.size() == body.size();
  }));
  EXPECT_EQ(client().received, body);
  EXPECT_GT(refills, 10);
  EXPECT_LT(most, kHigh + 30'000 + 128 * 1024);
  EXPECT_EQ(stream().backlog(), 0u);
}

TEST_F(TlsStreamTest, UploadWithBackPressure) {
  open();
  const std::string body = pattern(4 * 1024 * 1024);
  server().read_on_event = false;
  stream().pause_reading();
  client().write(body);
  for (int i = 0; i < 200; ++i) {
    client().step();
    pair->loop->run_once(0);
  }
  EXPECT_GT(client().unsent(), body.size() / 2);  // the kernel's buffers are full, and no more
  EXPECT_EQ(server().readable_calls, 0);
  server().read_on_event = true;
  stream().resume_reading();
  EXPECT_EQ(server().readable_calls, 0);  // never from inside the call
  ASSERT_TRUE(pair->run([&] { return server().received.size() == body.size(); }));
  EXPECT_EQ(server().received, body);
}

// What OpenSSL has read ahead raises no event any more: resuming must look there too.
TEST_F(TlsStreamTest, ResumeFindsWhatWasReadAhead) {
  open();
  client().write(std::string(100, 'a'));
  client().step();
  client().write(std::string(100, 'b'));
  client().step();
  server().read_on_event = false;
  pair->loop->run_once(0);
  ASSERT_EQ(server().readable_calls, 1);
  uint8_t one[150];
  ASSERT_EQ(stream().read(one).size, 150u);
  stream().pause_reading();
  for (int i = 0; i < 5; ++i) pair->loop->run_once(0);
  EXPECT_EQ(server().readable_calls, 1);
  server().read_on_event = true;
  stream().resume_reading();
  pair->loop->run_once(0);
  EXPECT_EQ(server().received, std::string(50, 'b'));
}

TEST_F(TlsStreamTest, ReadFillsTheBufferOverRecords) {
  open();
  server().read_on_event = false;
  for (int i = 0; i < 10; ++i) {
    client().write(std::string(10, static_cast<char>('0' + i)));
    client().step();
  }
  pair->loop->run_once(0);
  uint8_t buffer[1000];
  const net::IoResult r = stream().read(buffer);
  EXPECT_EQ(r.status, net::IoStatus::ok);
  EXPECT_EQ(r.size, 100u);
  EXPECT_EQ(stream().read(buffer).status, net::IoStatus::would_block);
  EXPECT_EQ(stream().read({}).status, net::IoStatus::ok);
}

TEST_F(TlsStreamTest, BothDirectionsAtOnce) {
  open();
  const std::string down = pattern(3'000'000);
  const std::string up = pattern(2'500'000);
  stream().write(over(down, 0, down.size()));
  client().write(up);
  ASSERT_TRUE(pair->run([&] {
    return client().received.size() == down.size() && server().received.size() == up.size();
  }));
  EXPECT_EQ(client().received, down);
  EXPECT_EQ(server().received, up);
}

// ---- ends (RFC 8446 6.1) -----------------------------------------------------------------------

TEST_F(TlsStreamTest, CloseNotifyIsAGoodEnd) {
  open();
  client().write("last");
  client().step();
  SSL_shutdown(client().ssl());
  client().send_out();
  ASSERT_TRUE(pair->run([&] { return server().ended; }));
  EXPECT_EQ(server().received, "last");
  EXPECT_FALSE(stream().truncated());
  // The other direction is still open.
  stream().write_copy(as_bytes("answer"));
  ASSERT_TRUE(pair->run([&] { return client().received == "answer"; }));
}

TEST_F(TlsStreamTest, FinWithoutCloseNotifyIsTruncation) {
  open();
  client().write("part");
  client().step();
  shutdown(client().fd(), SHUT_WR);
  ASSERT_TRUE(pair->run([&] { return server().read_error; }));
  EXPECT_EQ(server().received, "part");
  EXPECT_FALSE(server().ended);
  EXPECT_TRUE(stream().truncated());
  EXPECT_NE(stream().last_error().message.find("close_notify"), std::string::npos);
  stream().write_copy(as_bytes("still heard"));
  ASSERT_TRUE(pair->run([&] { return client().received == "still heard"; }));
}

TEST_F(TlsStreamTest, FinWithoutCloseNotifyIsFoundAfterAPause) {
  open();
  stream().pause_reading();
  client().write("part");
  client().step();
  shutdown(client().fd(), SHUT_WR);
  for (int i = 0; i < 5; ++i) pair->loop->run_once(0);
  EXPECT_FALSE(server().read_error);
  stream().resume_reading();
  ASSERT_TRUE(pair->run([&] { return server().read_error; }));
  EXPECT_EQ(server().received, "part");
  EXPECT_TRUE(stream().truncated());
}

TEST_F(TlsStreamTest, ShutdownFollowsTheQueue) {
  open();
  const std::string body = pattern(3'000'000);
  stream().write(over(body, 0, body.size()));
  stream().shutdown_write();
  ASSERT_TRUE(pair->run([&] { return client().peer_closed(); }));
  EXPECT_EQ(client().received, body);
  EXPECT_TRUE(client().received_close_notify);
  // We still read.
  client().write("late");
  ASSERT_TRUE(pair->run([&] { return server().received == "late"; }));
}

TEST_F(TlsStreamTest, AbortIsAReset) {
  open(true);
  stream().write_copy(as_bytes("never seen"));
  stream().abort();
  EXPECT_EQ(stream().fd(), -1);
  EXPECT_EQ(stream().backlog(), 0u);
  uint8_t buffer[10];
  EXPECT_EQ(stream().read(buffer).status, net::IoStatus::error);
  pair->loop->run_once(0);
  char byte;
  EXPECT_EQ(recv(client().fd(), &byte, 1, 0), -1);
  EXPECT_EQ(errno, ECONNRESET);
  EXPECT_EQ(server().stream_error, "");
}

void reset(net::Fd& fd) {
  const linger now{.l_onoff = 1, .l_linger = 0};
  setsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
  fd.reset();
}

TEST_F(TlsStreamTest, ResetIsAReadError) {
  open(true);
  reset(client().socket());
  ASSERT_TRUE(pair->run([&] { return server().read_error; }, false));
  EXPECT_FALSE(stream().truncated());
  EXPECT_EQ(stream().last_error().code, ECONNRESET);
}

TEST_F(TlsStreamTest, ResetWhilePausedIsTold) {
  open(true);
  stream().pause_reading();
  reset(client().socket());
  ASSERT_TRUE(pair->run([&] { return !server().stream_error.empty(); }, false));
}

TEST_F(TlsStreamTest, WriteToAClosedPeerIsTold) {
  open(true);
  stream().pause_reading();
  const std::string body = pattern(1'000'000);
  reset(client().socket());
  stream().write(over(body, 0, body.size()));
  ASSERT_TRUE(pair->run([&] { return !server().stream_error.empty(); }, false));
}

// ---- hostile peers -----------------------------------------------------------------------------

void send_key_updates(Client& client, int count, int type) {
  for (int i = 0; i < count; ++i) {
    SSL_key_update(client.ssl(), type);
    SSL_do_handshake(client.ssl());
    client.send_out();
  }
}

TEST_F(TlsStreamTest, KeyUpdateIsAnswered) {
  open();
  send_key_updates(client(), 1, SSL_KEY_UPDATE_REQUESTED);
  client().write("after");
  ASSERT_TRUE(pair->run([&] { return server().received == "after"; }));
  stream().write_copy(as_bytes("under a new key"));
  ASSERT_TRUE(pair->run([&] { return client().received == "under a new key"; }));
}

TEST_F(TlsStreamTest, KeyUpdateFloodEndsTheConnection) {
  for (const int type : {SSL_KEY_UPDATE_REQUESTED, SSL_KEY_UPDATE_NOT_REQUESTED}) {
    open();
    const counters::Counter floods("pqedge_tls_control_floods_total", "");
    const uint64_t before = floods.value();
    send_key_updates(client(), 32, type);
    for (int i = 0; i < 5; ++i) pair->loop->run_once(0);
    EXPECT_FALSE(server().read_error);
    client().write("x");
    client().step();
    pair->loop->run_once(0);
    EXPECT_EQ(server().received, "x");
    send_key_updates(client(), 32, type);
    for (int i = 0; i < 5; ++i) pair->loop->run_once(0);
    EXPECT_FALSE(server().read_error);
    send_key_updates(client(), 1, type);
    for (int i = 0; i < 5; ++i) pair->loop->run_once(0);
    EXPECT_TRUE(server().read_error);
    EXPECT_EQ(floods.value(), before + 1);
    EXPECT_NE(stream().last_error().message.find("KeyUpdate"), std::string::npos);
  }
}

// A peer that never reads but keeps making us answer.
TEST_F(TlsStreamTest, AnswersToAPeerThatNeverReadsAreBounded) {
  open();
  client().reading = false;
  for (int i = 0; i < 60'000 && !server().read_error; ++i) {
    send_key_updates(client(), 1, SSL_KEY_UPDATE_REQUESTED);
    client().write("x");
    client().step();
    pair->loop->run_once(0);
    ASSERT_LE(stream().backlog(), 300'000u);
  }
  EXPECT_TRUE(server().read_error);
}

TEST_F(TlsStreamTest, DamagedRecordIsAnAlertAndAnError) {
  open();
  client().rewrite = [](std::string s) {
    s.back() ^= 1;
    return s;
  };
  client().write("data");
  ASSERT_TRUE(pair->run([&] { return server().read_error; }));
  EXPECT_FALSE(stream().truncated());
  client().rewrite = nullptr;
  ASSERT_TRUE(pair->run([&] { return client().failed(); }));
  EXPECT_NE(client().failure().find("bad record mac"), std::string::npos) << client().failure();
}

// RFC 8446 4.1.2: a ClientHello after the handshake is an unexpected message.
TEST_F(TlsStreamTest, RenegotiationIsRefused) {
  pair = std::make_unique<Pair>(make_contexts({.min_version = "1.2"}),
                                Client::Options{.max_version = TLS1_2_VERSION});
  ASSERT_TRUE(pair->handshake());
  SSL_renegotiate(client().ssl());
  SSL_do_handshake(client().ssl());
  client().send_out();
  for (int i = 0; i < 5; ++i) pair->loop->run_once(0);
  client().take_in();
  ERR_clear_error();
  EXPECT_NE(SSL_do_handshake(client().ssl()), 1);
  EXPECT_NE(take_openssl_error().find("no renegotiation"), std::string::npos);
}

// ---- manners -----------------------------------------------------------------------------------

TEST_F(TlsStreamTest, HandlerMayDestroyTheStreamInOnReadable) {
  open();
  server().destroy_on_readable = true;
  client().write("x");
  ASSERT_TRUE(pair->run([&] { return server().stream == nullptr; }));
  pair->settle();
  EXPECT_TRUE(client().peer_closed());
}

struct DestroyOnWritable final : net::StreamHandler {
  std::unique_ptr<net::Stream> stream;
  bool called = false;
  void on_readable() override {}
  void on_writable() override {
    called = true;
    stream.reset();
  }
  void on_stream_error(const Error&) override {}
};

TEST_F(TlsStreamTest, HandlerMayDestroyTheStreamInOnWritable) {
  open();
  DestroyOnWritable handler;
  handler.stream = std::move(server().stream);
  handler.stream->set_handler(&handler);
  handler.stream->notify_below(10);
  handler.stream->write_copy(as_bytes("more than ten bytes"));
  ASSERT_TRUE(pair->run([&] { return handler.called; }));
  EXPECT_EQ(handler.stream, nullptr);
  ASSERT_TRUE(pair->run([&] { return client().received == "more than ten bytes"; }));
}

struct DestroyOnHandshake final : HandshakeHandler {
  std::unique_ptr<net::Stream> stream;
  bool called = false;
  void on_handshake_done() override {
    called = true;
    stream.reset();
  }
  void on_handshake_failed(const Error&) override {}
};

TEST_F(TlsStreamTest, HandlerMayDestroyTheStreamInOnHandshakeDone) {
  int fds[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
  auto loop = std::move(*net::Loop::create());
  Client peer(fds[1], {});
  DestroyOnHandshake handler;
  net::ConnectionFacts facts;
  const AlpnList alpn = {"http/1.1"};
  handler.stream =
      make_tls_server_stream(*loop, net::Fd(fds[0]), make_contexts(), facts, alpn, handler);
  for (int i = 0; i < 1000 && !handler.called; ++i) {
    peer.step();
    loop->run_once(0);
  }
  EXPECT_TRUE(handler.called);
}

// The stream outlives a reload: it holds on to the contexts that it was made from.
TEST_F(TlsStreamTest, ContextsLiveAsLongAsTheStream) {
  auto contexts = make_contexts();
  const std::weak_ptr<ServerContexts> watch = contexts;
  pair = std::make_unique<Pair>(std::move(contexts));
  ASSERT_TRUE(pair->handshake());
  EXPECT_FALSE(watch.expired());
  server().stream.reset();
  EXPECT_TRUE(watch.expired());
}

// Bytes that came together with the Finished are delivered without another event.
TEST_F(TlsStreamTest, RequestWithTheFinishedIsDelivered) {
  pair = std::make_unique<Pair>(make_contexts());
  client().write("early bird");
  ASSERT_TRUE(pair->run([&] { return server().received == "early bird"; }));
}

TEST_F(TlsStreamTest, ManyStreamsShareTheGatherBuffer) {
  open();
  Pair second(make_contexts());
  ASSERT_TRUE(second.handshake());
  const std::string body = pattern(500'000);
  stream().write(over(body, 0, body.size()));
  stream().flush();
  second.server->stream->write_copy(as_bytes("other"));
  second.server->stream->flush();
  stream().flush();
  ASSERT_TRUE(second.run([&] { return second.client->received == "other"; }));
  ASSERT_TRUE(pair->run([&] { return client().received.size() == body.size(); }));
  EXPECT_EQ(client().received, body);
}

}  // namespace
}  // namespace pqedge::crypto::testing
