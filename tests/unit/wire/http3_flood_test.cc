// A client that costs more than it is worth: one budget a connection, whatever the trick, and no
// patience without end.
#include <gtest/gtest.h>

#include <string>

#include "base/chunk.h"
#include "base/counters.h"
#include "base/text.h"
#include "unit/wire/http3_test_server.h"
#include "unit/wire/quic_test_client.h"

namespace pqedge::wire_test {
namespace {

constexpr uint64_t kExcessiveLoad = 0x107;

std::string hex(std::string_view digits) { return *from_hex(digits); }
const std::string kGet = hex("01100000d1d7c150096c6f63616c686f7374");
const std::string kPost = hex("01100000d4d7c150096c6f63616c686f7374");
const std::string kControl = hex("000400");

std::string repeat(std::string_view piece, size_t times) {
  std::string out;
  for (size_t i = 0; i < times; ++i) out += piece;
  return out;
}

uint64_t nuisances(std::string_view kind) {
  uint64_t value = 0;
  counters::for_each([&](const counters::Series& s) {
    if (s.name != "pqedge_http3_nuisances_total") return;
    for (const counters::Label& l : *s.labels) {
      if (l.value == kind) value = s.value;
    }
  });
  return value;
}

class Http3Flood : public ::testing::Test {
 protected:
  void serve(Http3TestServer::Options options = {}, QuicTestClient::Options client = {}) {
    server_ = std::make_unique<Http3TestServer>(*loop_, std::move(options));
    client.server = server_->address();
    client_ = std::make_unique<QuicTestClient>(*loop_, std::move(client));
    ASSERT_TRUE(run([&] { return client_->handshake_done(); }));
  }
  bool run(const std::function<bool()>& done) { return run_until(*loop_, done); }
  int64_t send_request(std::string_view bytes, bool end = true) {
    const int64_t id = client_->open_bidirectional();
    if (id >= 0) client_->write(id, bytes, end);
    return id;
  }
  int64_t send_unidirectional(std::string_view bytes) {
    const int64_t id = client_->open_unidirectional();
    client_->write(id, bytes);
    return id;
  }
  void expect_excessive_load(const char* kind, uint64_t before) {
    ASSERT_TRUE(run([&] { return client_->closed().has_value(); })) << kind;
    EXPECT_TRUE(client_->closed()->application) << client_->closed()->reason;
    EXPECT_EQ(client_->closed()->code, kExcessiveLoad) << client_->closed()->reason;
    EXPECT_GT(nuisances(kind), before);
  }
  void expect_alive() {
    const int64_t id = send_request(kGet);
    EXPECT_TRUE(run([&] { return client_->stream(id).ended || client_->closed(); }));
    EXPECT_FALSE(client_->closed()) << client_->closed()->reason;
  }

  std::unique_ptr<net::Loop> loop_ = *net::Loop::create();
  std::unique_ptr<Http3TestServer> server_;
  std::unique_ptr<QuicTestClient> client_;
};

// CVE-2023-44487 as HTTP/3 has it.
TEST_F(Http3Flood, RapidResets) {
  serve();
  server_->on_request = [](TestExchange& e) { e.when_complete = nullptr; };
  const uint64_t before = nuisances("request_cancelled");
  run([&] {
    const int64_t id = send_request(kGet, false);
    if (id < 0) return client_->closed().has_value();
    settle(*loop_, 1);  // the request leaves, and only then its reset
    client_->reset(id, 0x10c);
    client_->stop_sending(id, 0x10c);
    return client_->closed().has_value();
  });
  expect_excessive_load("request_cancelled", before);
  for (size_t i = 0; i < server_->exchanges(); ++i) EXPECT_TRUE(server_->exchange(i).reset);
}

TEST_F(Http3Flood, SomeCancelledRequestsAreNoFlood) {
  serve();
  server_->on_request = [](TestExchange& e) { e.when_complete = nullptr; };
  for (int i = 0; i < 100; ++i) {
    const int64_t id = send_request(kGet, false);
    ASSERT_GE(id, 0);
    settle(*loop_, 2);
    client_->reset(id, 0x10c);
    client_->stop_sending(id, 0x10c);
    settle(*loop_, 2);
  }
  server_->on_request = nullptr;
  expect_alive();
}

// CVE-2025-8671 ("MadeYouReset"): it is the server that is made to give up.
TEST_F(Http3Flood, RequestsThatHaveToBeRefused) {
  serve();
  const uint64_t before = nuisances("bad_request");
  const std::string bad = hex("010f0000d150096c6f63616c686f7374c1");  // no :scheme
  run([&] {
    while (send_request(bad) >= 0) {
    }
    return client_->closed().has_value();
  });
  expect_excessive_load("bad_request", before);
}

TEST_F(Http3Flood, EmptyDataFrames) {
  serve();
  const uint64_t before = nuisances("empty_data");
  send_request(kPost + repeat(hex("0000"), 20'000), false);
  expect_excessive_load("empty_data", before);
}

TEST_F(Http3Flood, UnknownFrames) {
  serve();
  const uint64_t before = nuisances("unknown_frame");
  send_request(repeat(hex("2100"), 20'000), false);
  expect_excessive_load("unknown_frame", before);
}

TEST_F(Http3Flood, UnknownFramesOnTheControlStream) {
  serve();
  const uint64_t before = nuisances("unknown_frame");
  send_unidirectional(kControl + repeat(hex("2100"), 20'000));
  expect_excessive_load("unknown_frame", before);
}

TEST_F(Http3Flood, PriorityUpdates) {
  serve();
  const uint64_t before = nuisances("priority_update");
  send_unidirectional(kControl + repeat(hex("800f07000400753d31"), 20'000));
  expect_excessive_load("priority_update", before);
}

TEST_F(Http3Flood, LongControlFrames) {
  serve();
  send_unidirectional(kControl + hex("800f0700") + hex("80100000") + std::string(100'000, 'x'));
  ASSERT_TRUE(run([&] { return client_->closed().has_value(); }));
  EXPECT_EQ(client_->closed()->code, kExcessiveLoad);
}

TEST_F(Http3Flood, EncoderInstructionsThatNobodyNeeds) {
  serve();
  const uint64_t before = nuisances("qpack_instructions");
  // Capacity 4096, then the same small entry again and again.
  send_unidirectional(hex("02") + hex("3fe11f") + repeat(hex("4178") + hex("0179"), 100'000));
  expect_excessive_load("qpack_instructions", before);
}

TEST_F(Http3Flood, StreamsOfUnknownTypes) {
  serve();
  const uint64_t before = nuisances("unknown_stream");
  run([&] {
    for (int64_t id; (id = client_->open_unidirectional()) >= 0;) {
      client_->write(id, hex("21"), true);
    }
    return client_->closed().has_value();
  });
  expect_excessive_load("unknown_stream", before);
}

TEST_F(Http3Flood, SectionsThatWaitForTheTable) {
  serve();
  const uint64_t before = nuisances("qpack_blocked");
  run([&] {
    const int64_t id = send_request(hex("0103020080"), false);
    if (id < 0) return client_->closed().has_value();
    settle(*loop_, 1);
    client_->reset(id, 0x10c);
    client_->stop_sending(id, 0x10c);
    return client_->closed().has_value();
  });
  expect_excessive_load("qpack_blocked", before);
}

// ---- patience -----------------------------------------------------------------------------------

TEST_F(Http3Flood, AHeadThatStopsIs408OrReset) {
  Http3TestServer::Options options;
  options.limits.header_timeout = 50 * kMillisecond;
  serve(std::move(options));
  const int64_t half = send_request(kGet.substr(0, 7), false);
  const int64_t nothing = send_request(hex("01"), false);
  ASSERT_TRUE(run([&] { return client_->stream(half).ended && client_->stream(nothing).reset; }));
  EXPECT_EQ(server_->exchange(0).bad_status, 408);
  EXPECT_EQ(client_->stream(nothing).reset, 0x10cu);
  expect_alive();
}

TEST_F(Http3Flood, ABodyThatStopsIs408) {
  Http3TestServer::Options options;
  options.limits.body_timeout = 50 * kMillisecond;
  serve(std::move(options));
  const int64_t id = send_request(kPost + hex("000561"), false);
  ASSERT_TRUE(run([&] { return client_->stream(id).ended; }));
  EXPECT_EQ(server_->exchange(0).bad_status, 408);
  expect_alive();
}

TEST_F(Http3Flood, ABodyThatWeHoldUpIsNotLate) {
  Http3TestServer::Options options;
  options.limits.body_timeout = 300 * kMillisecond;
  options.limits.body_window = 1000;
  serve(std::move(options));
  server_->on_request = [](TestExchange& e) { e.credit = false; };
  const int64_t id = send_request(kPost + hex("0043e8") + std::string(1000, 'x'), false);
  ASSERT_TRUE(run([&] { return server_->exchanges() == 1 && server_->exchange(0).held == 1000; }));
  // A second request of the same age is timed out, and this one is not.
  const int64_t late = send_request(kPost, false);
  ASSERT_TRUE(run([&] { return client_->stream(late).ended; }));
  EXPECT_EQ(server_->exchange(0).bad_status, 0);
  TestExchange& e = server_->exchange(0);
  e.stream()->consumed(1000);
  client_->write(id, "", true);
  ASSERT_TRUE(run([&] { return client_->stream(id).ended; }));
}

// K29: what a zero window holds is let go.
TEST_F(Http3Flood, StalledStreamsAreReaped) {
  Http3TestServer::Options options;
  options.limits.send_timeout = 50 * kMillisecond;
  QuicTestClient::Options client;
  client.stream_window = 0;
  serve(std::move(options), std::move(client));
  const size_t chunks = Chunk::live();
  server_->on_request = [](TestExchange& e) {
    e.when_complete = [](TestExchange& x) { x.answer(200, std::string(100'000, 'x')); };
  };
  const int64_t id = send_request(kGet);
  ASSERT_TRUE(run([&] { return client_->stream(id).reset.has_value(); }));
  EXPECT_EQ(server_->exchange(0).reset, http::Abort::timed_out);
  EXPECT_LE(Chunk::live(), chunks + 1);
  EXPECT_GT(nuisances("stalled_stream"), 0u);
}

TEST_F(Http3Flood, ManyStalledStreamsEndTheConnection) {
  Http3TestServer::Options options;
  options.limits.send_timeout = 50 * kMillisecond;
  QuicTestClient::Options client;
  client.stream_window = 0;
  serve(std::move(options), std::move(client));
  for (int i = 0; i < 100; ++i) send_request(kGet);
  expect_excessive_load("stalled_stream", 0);
}

// The client is gone and never says so: its answer is not kept for the idle timeout's whole length.
TEST_F(Http3Flood, AVanishedClientHoldsNothing) {
  Http3TestServer::Options options;
  options.limits.send_timeout = 100 * kMillisecond;
  serve(std::move(options));
  server_->on_request = [](TestExchange& e) {
    e.when_complete = [](TestExchange& x) { x.answer(200, std::string(1'000'000, 'x')); };
  };
  send_request(kGet);
  ASSERT_TRUE(run([&] { return server_->exchanges() == 1; }));
  client_->vanish();
  ASSERT_TRUE(run([&] { return server_->exchange(0).reset.has_value(); }));
  EXPECT_LE(Chunk::live(), 2u);
}

TEST_F(Http3Flood, AnIdleConnectionIsEndedInGoodOrder) {
  Http3TestServer::Options options;
  options.limits.idle_timeout = 50 * kMillisecond;
  serve(std::move(options));
  ASSERT_TRUE(run([&] { return client_->closed().has_value(); }));
  EXPECT_TRUE(client_->closed()->application);
  EXPECT_EQ(client_->closed()->code, 0x100u);
}

TEST_F(Http3Flood, ASilentConnectionIsForgotten) {
  Http3TestServer::Options options;
  options.settings.idle_timeout = kSecond;
  serve(std::move(options));
  ASSERT_TRUE(run([&] { return server_->connections() == 1; }));
  client_->vanish();
  ASSERT_TRUE(run([&] { return server_->closed(0) != "(open)"; }));
  EXPECT_EQ(server_->closed(0), "the connection was idle");
  EXPECT_EQ(server_->listener().connections(), 0u);
}

}  // namespace
}  // namespace pqedge::wire_test
