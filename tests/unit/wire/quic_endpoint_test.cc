// The endpoint against what arrives on a UDP socket: garbage, lost state, other workers, moving
// clients (RFC 9000).
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include "unit/wire/http3_test_client.h"
#include "unit/wire/http3_test_server.h"
#include "wire/quic/counters.h"

namespace pqedge::wire_test {
namespace {

class QuicEndpoint : public ::testing::Test {
 protected:
  void serve(Http3TestServer::Options options = {}) {
    server_ = std::make_unique<Http3TestServer>(*loop_, std::move(options));
  }
  QuicTestClient::Options to_server() const { return {.server = server_->address()}; }
  std::unique_ptr<Http3TestClient> connect() { return connect(to_server()); }
  std::unique_ptr<Http3TestClient> connect(QuicTestClient::Options options) {
    return std::make_unique<Http3TestClient>(*loop_, std::move(options));
  }
  bool run(const std::function<bool()>& done) { return run_until(*loop_, done); }
  bool serves(Http3TestClient& client) {
    if (!run([&] { return client.handshake_done() || client.closed(); }) || client.closed()) {
      return false;
    }
    const int64_t id = client.get("/alive");
    return run([&] { return client.answered(id) || client.closed(); }) && client.answered(id);
  }

  std::unique_ptr<net::Loop> loop_ = *net::Loop::create();
  std::unique_ptr<Http3TestServer> server_;
};

// A bare socket: what it gets back is looked at byte by byte.
class Probe {
 public:
  explicit Probe(const net::Address& to)
      : to_(to), fd_(::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0)) {
    const net::Address any = *net::Address::from_ip("127.0.0.1", 0);
    EXPECT_EQ(bind(fd_.get(), any.data(), any.size()), 0);
  }
  void send(const Datagram& d) {
    EXPECT_EQ(sendto(fd_.get(), d.data(), d.size(), 0, to_.data(), to_.size()),
              static_cast<ssize_t>(d.size()));
  }
  std::optional<Datagram> receive() {
    Datagram d(65536);
    const ssize_t n = recv(fd_.get(), d.data(), d.size(), 0);
    if (n < 0) return std::nullopt;
    d.resize(static_cast<size_t>(n));
    return d;
  }

 private:
  net::Address to_;
  net::Fd fd_;
};

// ---- datagrams that make no sense ---------------------------------------------------------------

TEST_F(QuicEndpoint, GarbageIsIgnoredAndAnsweredByNothing) {
  serve();
  Probe probe(server_->address());
  std::mt19937 random(5);
  for (int i = 0; i < 2000; ++i) {
    Datagram d(1 + random() % 1500);
    for (uint8_t& b : d) b = static_cast<uint8_t>(random());
    d[0] &= 0x7f;  // short headers: nothing is known of them
    probe.send(d);
    if (i % 50 == 0) settle(*loop_, 3);
  }
  settle(*loop_);
  EXPECT_FALSE(probe.receive().has_value());
  auto client = connect();
  EXPECT_TRUE(serves(*client));
  EXPECT_EQ(server_->listener().connections(), 1u);
}

TEST_F(QuicEndpoint, MutatedInitialsDoNoHarm) {
  serve();
  auto client = connect();
  std::vector<Datagram> flight;
  client->on_datagram = [&](const Datagram& d) { flight.push_back(d); };
  settle(*loop_, 3);
  ASSERT_GE(flight.size(), 2u);
  client->vanish();
  Probe probe(server_->address());
  std::mt19937 random(9);
  for (int i = 0; i < 1000; ++i) {
    Datagram d = flight[random() % flight.size()];
    for (int n = 0; n < 3; ++n) d[random() % d.size()] ^= static_cast<uint8_t>(1 + random() % 255);
    if (random() % 4 == 0) d.resize(random() % d.size());
    if (!d.empty()) probe.send(d);
    if (i % 20 == 0) settle(*loop_, 3);
  }
  settle(*loop_);
  auto good = connect();
  EXPECT_TRUE(serves(*good));
}

// RFC 9000 6.1, 6.3, 14.1.
TEST_F(QuicEndpoint, AnUnknownVersionIsAnsweredWithOurs) {
  serve();
  Probe probe(server_->address());
  Datagram d(1200, 0);
  const uint8_t head[] = {0xc0, 0xba, 0xba, 0xba, 0xba, 3, 'd', 'e', 'f', 2, 'a', 'b'};
  std::ranges::copy(head, d.begin());
  probe.send(d);
  std::optional<Datagram> answer;
  ASSERT_TRUE(run([&] { return (answer = probe.receive()).has_value(); }));
  ASSERT_GE(answer->size(), 16u);
  EXPECT_TRUE((*answer)[0] & 0x80);
  // Version 0, the two IDs the other way round, then versions.
  const std::vector<uint8_t> expected = {0, 0, 0, 0, 2, 'a', 'b', 3, 'd', 'e', 'f'};
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), answer->begin() + 1));
  bool v1 = false;
  bool reserved = false;
  for (size_t at = 12; at + 4 <= answer->size(); at += 4) {
    const uint32_t v = load_be32(answer->data() + at);
    v1 = v1 || v == 1;
    reserved = reserved || (v & 0x0f0f0f0f) == 0x0a0a0a0a;
  }
  EXPECT_TRUE(v1);
  EXPECT_TRUE(reserved);
  EXPECT_LT(answer->size(), d.size());

  d.resize(1199);  // too short to be answered: it would amplify
  probe.send(d);
  settle(*loop_);
  EXPECT_FALSE(probe.receive().has_value());
}

// RFC 9000 6.1: what looks like Version Negotiation itself is not answered with it.
TEST_F(QuicEndpoint, VersionNegotiationIsAnsweredByNothing) {
  serve();
  Probe probe(server_->address());
  Datagram d(1200, 0);
  const uint8_t head[] = {0xc0, 0, 0, 0, 0, 8, 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 2, 'a', 'b'};
  std::ranges::copy(head, d.begin());
  probe.send(d);
  settle(*loop_);
  EXPECT_FALSE(probe.receive().has_value());
}

// RFC 9000 14.1: an Initial in a smaller datagram is dropped.
TEST_F(QuicEndpoint, SmallInitialsAreDropped) {
  serve();
  auto client = connect();
  client->on_datagram = [&](const Datagram& d) {
    client->send_datagram(Bytes(d).first(std::min<size_t>(d.size(), 1100)));
  };
  settle(*loop_);
  EXPECT_EQ(server_->admissions, 0);
  EXPECT_EQ(client->datagrams_received(), 0);
}

// ---- the first flight ---------------------------------------------------------------------------

TEST_F(QuicEndpoint, AHelloInSeveralInitialsCompletesInAnyOrder) {
  serve();
  auto client = connect();
  std::vector<Datagram> flight;
  client->on_datagram = [&](const Datagram& d) { flight.push_back(d); };
  settle(*loop_, 3);
  ASSERT_GE(flight.size(), 2u);
  client->on_datagram = nullptr;
  std::ranges::reverse(flight);
  for (const Datagram& d : flight) client->send_datagram(d);
  EXPECT_TRUE(serves(*client));
  EXPECT_EQ(server_->connections(), 1u);
}

TEST_F(QuicEndpoint, DoubledAndReplayedInitialsAreOneConnection) {
  serve();
  auto client = connect();
  std::vector<Datagram> flight;
  client->on_datagram = [&](const Datagram& d) {
    if (flight.size() < 4) flight.push_back(d);
    client->send_datagram(d);
    client->send_datagram(d);
  };
  EXPECT_TRUE(serves(*client));
  for (const Datagram& d : flight) client->send_datagram(d);  // replayed after the handshake
  settle(*loop_);
  EXPECT_TRUE(serves(*client));
  EXPECT_EQ(server_->connections(), 1u);
  EXPECT_EQ(server_->listener().connections(), 1u);
}

TEST_F(QuicEndpoint, ALostInitialIsSentAgain) {
  serve();
  auto client = connect();
  int count = 0;
  client->on_datagram = [&](const Datagram& d) {
    if (++count != 2) client->send_datagram(d);
  };
  EXPECT_TRUE(serves(*client));
}

TEST_F(QuicEndpoint, ADroppedPeerHearsNothing) {
  serve();
  server_->verdict = http3::Acceptor::Verdict::drop;
  auto client = connect();
  ASSERT_TRUE(run([&] { return server_->admissions > 0; }));
  settle(*loop_);
  EXPECT_EQ(client->datagrams_received(), 0);
  EXPECT_EQ(server_->listener().connections(), 0u);
}

TEST_F(QuicEndpoint, AnotherProtocolIsRefusedByTls) {
  serve();
  QuicTestClient client(*loop_, {.server = server_->address(), .alpn = "h4"});
  ASSERT_TRUE(run([&] { return client.closed().has_value(); }));
  EXPECT_FALSE(client.closed()->application);
  EXPECT_EQ(client.closed()->code, 0x100u + 120);  // no_application_protocol (RFC 9001 8.1)
  EXPECT_EQ(server_->connections(), 0u);
  EXPECT_EQ(server_->listener().connections(), 0u);
}

TEST_F(QuicEndpoint, AHandshakeThatStopsIsForgotten) {
  Http3TestServer::Options options;
  options.settings.handshake_timeout = 500 * kMillisecond;
  const uint64_t before = quic::counters::handshakes_timed_out.value();
  serve(std::move(options));
  auto client = connect();
  int count = 0;
  client->on_datagram = [&](const Datagram& d) {
    if (++count <= 2) client->send_datagram(d);
  };
  ASSERT_TRUE(run([&] { return count > 2; }));
  client->vanish();
  EXPECT_TRUE(run([&] { return quic::counters::handshakes_timed_out.value() > before; }));
  EXPECT_TRUE(run([&] { return server_->listener().connections() == 0; }));
}

TEST_F(QuicEndpoint, NewConnectionsAreRefusedWhileTheListenerCloses) {
  serve();
  auto old = connect();
  ASSERT_TRUE(serves(*old));
  server_->listener().stop_accepting();
  auto client = connect();
  ASSERT_TRUE(run([&] { return client->closed().has_value(); }));
  EXPECT_FALSE(client->closed()->application);
  EXPECT_EQ(client->closed()->code, 0x02u);  // CONNECTION_REFUSED (RFC 9000 20.1)
  EXPECT_TRUE(serves(*old));
}

// ---- address validation (RFC 9000 8.1) ----------------------------------------------------------

TEST_F(QuicEndpoint, RetryAlwaysValidatesTheAddress) {
  Http3TestServer::Options options;
  options.settings.retry = quic::Settings::Retry::always;
  serve(std::move(options));
  auto client = connect();
  EXPECT_TRUE(serves(*client));
  EXPECT_TRUE(client->retried());
}

TEST_F(QuicEndpoint, TheAcceptorMayAskForARetry) {
  serve();
  server_->verdict = http3::Acceptor::Verdict::retry;
  auto client = connect();
  EXPECT_TRUE(serves(*client));
  EXPECT_TRUE(client->retried());
}

TEST_F(QuicEndpoint, RetryUnderLoadBeginsWithTheBound) {
  Http3TestServer::Options options;
  options.settings.retry_above = 2;
  serve(std::move(options));
  std::vector<std::unique_ptr<Http3TestClient>> stuck;
  for (int i = 0; i < 2; ++i) {
    stuck.push_back(connect());
    int* count = new int(0);
    Http3TestClient* c = stuck.back().get();
    c->on_datagram = [c, n = std::shared_ptr<int>(count)](const Datagram& d) {
      if (++*n <= 2) c->send_datagram(d);  // the hello, and nothing after
    };
  }
  ASSERT_TRUE(run([&] { return server_->listener().connections() == 2; }));
  auto client = connect();
  EXPECT_TRUE(serves(*client));
  EXPECT_TRUE(client->retried());
}

// A hello of two datagrams, of which the first got a Retry, must not have its second begin a
// connection because the crowd went away between them.
TEST_F(QuicEndpoint, RetryUnderLoadOutlastsTheCrowd) {
  Http3TestServer::Options options;
  options.settings.retry_above = 1;
  options.settings.handshake_timeout = 500 * kMillisecond;
  serve(std::move(options));
  auto stuck = connect();
  int sent = 0;
  stuck->on_datagram = [&](const Datagram& d) {
    if (++sent == 1) stuck->send_datagram(d);  // the hello's beginning, and nothing after
  };
  ASSERT_TRUE(run([&] { return server_->listener().connections() == 1; }));
  auto crowding = connect();
  EXPECT_TRUE(serves(*crowding));
  EXPECT_TRUE(crowding->retried());
  ASSERT_TRUE(run([&] { return server_->listener().connections() == 1; }));  // the stuck has gone
  auto next = connect();
  EXPECT_TRUE(serves(*next));
  EXPECT_TRUE(next->retried());
}

TEST_F(QuicEndpoint, ATokenOfAnEarlierConnectionSparesTheRetry) {
  Http3TestServer::Options options;
  options.settings.retry = quic::Settings::Retry::always;
  serve(std::move(options));
  auto first = connect();
  ASSERT_TRUE(serves(*first));
  ASSERT_TRUE(run([&] { return !first->new_token().empty(); }));
  QuicTestClient::Options again = to_server();
  again.token = first->new_token();
  auto second = connect(again);
  EXPECT_TRUE(serves(*second));
  EXPECT_FALSE(second->retried());
  // A token that was tampered with is as good as none.
  again.token.back() ^= 1;
  auto third = connect(again);
  EXPECT_TRUE(serves(*third));
  EXPECT_TRUE(third->retried());
}

TEST_F(QuicEndpoint, ARetryTokenOfAnotherAddressIsInvalid) {
  Http3TestServer::Options options;
  options.settings.retry = quic::Settings::Retry::always;
  serve(std::move(options));
  auto client = connect();
  // The Initials that carry the token leave from another port than those without.
  bool moved = false;
  client->on_datagram = [&](const Datagram& d) {
    if (client->retried() && !moved) {
      moved = true;
      client->rebind();
    }
    client->send_datagram(d);
  };
  ASSERT_TRUE(run([&] { return client->closed().has_value(); }));
  EXPECT_EQ(client->closed()->code, 0x0bu);  // INVALID_TOKEN
  EXPECT_EQ(server_->listener().connections(), 0u);
}

// RFC 9000 8.1: before the address is validated, at most three times what came.
TEST_F(QuicEndpoint, TheAmplificationLimitIsKept) {
  serve();
  auto client = connect();
  size_t sent = 0;
  int count = 0;
  client->on_datagram = [&](const Datagram& d) {
    if (++count > 2) return;
    sent += d.size();
    client->send_datagram(d);
  };
  // Nothing is read by ngtcp2's client here: a probe of the same socket is not possible, so the
  // server's answers are counted by their number and largest size.
  settle(*loop_, 50);
  EXPECT_GT(client->datagrams_received(), 0);
  EXPECT_LE(static_cast<size_t>(client->datagrams_received()) * 1200, 3 * sent + 1200);
}

// ---- lost state ---------------------------------------------------------------------------------

TEST_F(QuicEndpoint, AConnectionOfALostProcessIsResetStatelessly) {
  Http3TestServer::Options options;
  options.keys = std::make_shared<quic::Keys>(*quic::Keys::generate());
  serve(options);
  auto client = connect();
  ASSERT_TRUE(serves(*client));
  // The process dies and another one with the same keys takes its place at the same address.
  auto datagrams = std::make_shared<std::vector<Datagram>>();
  client->on_datagram = [datagrams](const Datagram& d) { datagrams->push_back(d); };
  client->get("/after");
  ASSERT_TRUE(run([&] { return !datagrams->empty(); }));
  Http3TestServer other(*loop_, options);
  Probe probe(other.address());
  probe.send(datagrams->front());
  std::optional<Datagram> answer;
  ASSERT_TRUE(run([&] { return (answer = probe.receive()).has_value(); }));
  // RFC 9000 10.3: looks like a short header, smaller than what it answers, ends with the token.
  EXPECT_EQ((*answer)[0] & 0xc0, 0x40);
  EXPECT_LT(answer->size(), datagrams->front().size());
  EXPECT_GE(answer->size(), 21u);
  const quic::Keys& keys = *options.keys;
  const auto token = keys.reset_token(Bytes(datagrams->front()).subspan(1, 16));
  EXPECT_TRUE(std::equal(token.begin(), token.end(), answer->end() - 16));
  EXPECT_EQ(other.exchanges(), 0u);
}

TEST_F(QuicEndpoint, StatelessResetsKeepToARateAndNeverGrow) {
  serve();
  Probe probe(server_->address());
  const auto packet = [&](size_t size) {
    Datagram d(size, 0x55);
    d[0] = 0x40;
    const quic::ConnectionId id = server_->keys()->make_id({7, 0}, 0);
    std::ranges::copy(id, d.begin() + 1);
    return d;
  };
  probe.send(packet(21));  // 10.3.3: the answer would be as large
  settle(*loop_);
  EXPECT_FALSE(probe.receive().has_value());
  size_t answers = 0;
  for (size_t size = 22; size < 60; ++size) {
    probe.send(packet(size));
    std::optional<Datagram> answer;
    ASSERT_TRUE(run([&] { return (answer = probe.receive()).has_value(); })) << size;
    EXPECT_LT(answer->size(), size);
  }
  for (int i = 0; i < 5000; ++i) {
    probe.send(packet(100));
    if (i % 20 == 0) settle(*loop_, 2);
    while (probe.receive()) ++answers;
  }
  EXPECT_LT(answers, 4000u);
}

// ---- other workers ------------------------------------------------------------------------------

TEST_F(QuicEndpoint, PacketsOfAnotherWorkerAreHandedOver) {
  Http3TestServer::Options options;
  options.keys = std::make_shared<quic::Keys>(*quic::Keys::generate());
  serve(options);
  auto client = connect();
  ASSERT_TRUE(serves(*client));
  // From now on all datagrams of the client reach the other worker's socket, as after a change of
  // the group of sockets, or of the client's port.
  options.self.worker = 1;
  Http3TestServer other(*loop_, options);
  int handed_over = 0;
  other.on_hand_over = [&](const quic::Owner& owner, const quic::ReceivedDatagram& d) {
    EXPECT_EQ(owner, (quic::Owner{7, 0}));
    quic::ReceivedDatagram copy = d;
    copy.local = server_->address();
    ++handed_over;
    server_->listener().receive_handed_over(copy);
  };
  client->on_datagram = [&](const Datagram& d) {
    // Only the path matters: the peer's address stays the client's own.
    other.listener().receive_handed_over(
        {.bytes = d, .peer = client->local(), .local = server_->address(), .ecn = 0});
  };
  // A datagram that was handed over already is not passed on again: two workers would play
  // ping-pong with it.
  client->get("/lost");
  settle(*loop_);
  EXPECT_EQ(handed_over, 0);
  Probe probe(other.address());
  client->on_datagram = [&](const Datagram& d) { probe.send(d); };
  client->get("/found");
  ASSERT_TRUE(run([&] { return handed_over > 0; }));
  EXPECT_TRUE(run([&] { return server_->exchanges() >= 2; }));
}

TEST_F(QuicEndpoint, PacketsOfADeadWorkerAreReset) {
  serve();
  server_->live = [](const quic::Owner&) { return false; };
  server_->on_hand_over = [](const quic::Owner&, const quic::ReceivedDatagram&) { ADD_FAILURE(); };
  Probe probe(server_->address());
  Datagram d(100, 0x55);
  d[0] = 0x40;
  const quic::ConnectionId id = server_->keys()->make_id({6, 3}, 0);
  std::ranges::copy(id, d.begin() + 1);
  probe.send(d);
  std::optional<Datagram> answer;
  ASSERT_TRUE(run([&] { return (answer = probe.receive()).has_value(); }));
  const auto token = server_->keys()->reset_token(id);
  EXPECT_TRUE(std::equal(token.begin(), token.end(), answer->end() - 16));
}

// ---- moving clients (K17) -----------------------------------------------------------------------

class QuicRebinding : public QuicEndpoint, public ::testing::WithParamInterface<bool> {};

TEST_P(QuicRebinding, ANewPortIsFollowedInTheMiddleOfADownload) {
  Http3TestServer::Options options;
  options.settings.active_migration = GetParam();
  serve(std::move(options));
  const std::string all(3'000'000, 'd');
  server_->on_request = [&](TestExchange& e) {
    e.when_complete = [&](TestExchange& x) {
      x.answer(200, x.request().target == "/" ? std::string_view(all) : "else");
    };
  };
  auto client = connect();
  ASSERT_TRUE(run([&] { return client->handshake_done(); }));
  EXPECT_EQ(ngtcp2_conn_get_remote_transport_params(client->conn())->disable_active_migration,
            GetParam() ? 0 : 1);
  const int64_t id = client->get("/");
  ASSERT_TRUE(run([&] { return client->answer(id).body.size() > 300'000; }));
  client->rebind();
  // The server learns of it with the next packet: a client that has acknowledged all has none.
  client->get("/else");
  ASSERT_TRUE(run([&] { return client->answered(id) || client->closed(); }));
  EXPECT_EQ(client->answer(id).body.size(), all.size());
  client->rebind();
  EXPECT_TRUE(serves(*client));
}

INSTANTIATE_TEST_SUITE_P(ActiveMigration, QuicRebinding, ::testing::Bool());

// ---- flow control -------------------------------------------------------------------------------

// K20: a stream that is held up says so.
TEST_F(QuicEndpoint, BlockedFramesAreSent) {
  serve();
  server_->on_request = [](TestExchange& e) {
    e.when_complete = [](TestExchange& x) { x.answer(200, std::string(200'000, 'x')); };
  };
  QuicTestClient::Options options = to_server();
  options.stream_window = 64 * 1024;
  options.extend_windows = false;
  options.log = true;
  auto client = connect(options);
  ASSERT_TRUE(run([&] { return client->handshake_done(); }));
  const int64_t id = client->get("/");
  ASSERT_TRUE(run([&] { return client->stream(id).received.size() == 64 * 1024; }));
  settle(*loop_, 50);
  EXPECT_EQ(client->stream(id).received.size(), 64 * 1024u);
  ASSERT_TRUE(run([&] { return client->log().contains("STREAM_DATA_BLOCKED(0x15)"); }));
  client->extend_stream(id, 300'000);
  client->extend_connection(300'000);
  ASSERT_TRUE(run([&] { return client->answered(id); }));
}

TEST_F(QuicEndpoint, AConnectionHeldUpAsAWholeSaysSo) {
  serve();
  server_->on_request = [](TestExchange& e) {
    e.when_complete = [](TestExchange& x) { x.answer(200, std::string(200'000, 'x')); };
  };
  QuicTestClient::Options options = to_server();
  options.connection_window = 64 * 1024;
  options.extend_windows = false;
  options.log = true;
  auto client = connect(options);
  ASSERT_TRUE(run([&] { return client->handshake_done(); }));
  const int64_t id = client->get("/");
  ASSERT_TRUE(run([&] { return client->log().contains(" DATA_BLOCKED(0x14)"); }));
  client->extend_connection(300'000);
  ASSERT_TRUE(run([&] { return client->answered(id); }));
}

// K19: windows begin at their settings and grow with what is taken.
TEST_F(QuicEndpoint, ReceiveWindowsGrowByNeed) {
  Http3TestServer::Options options;
  options.settings.stream_window = 64 * 1024;
  options.settings.connection_window = 64 * 1024;
  serve(std::move(options));
  auto client = connect();
  ASSERT_TRUE(run([&] { return client->handshake_done(); }));
  EXPECT_LE(ngtcp2_conn_get_max_data_left(client->conn()), 64 * 1024u);
  const int64_t id = client->post("/", std::string(8'000'000, 'u'));
  uint64_t largest = 0;
  ASSERT_TRUE(run([&] {
    if (client->conn() != nullptr) {
      largest = std::max(largest, ngtcp2_conn_get_max_data_left(client->conn()));
    }
    return client->answered(id);
  }));
  EXPECT_GT(largest, 128 * 1024u);
}

}  // namespace
}  // namespace pqedge::wire_test
