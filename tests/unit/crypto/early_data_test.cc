// Early data on a stream (RFC 8446 2.3): taken, answered, refused; OpenSSL is the client.
#include "crypto/early_data.h"

#include <gtest/gtest.h>

#include "unit/crypto/tls_pair.h"

namespace pqedge::crypto::testing {
namespace {

constexpr Nanos kLifetime = 7200 * kSecond;

TlsSettings early_settings() {
  TlsSettings settings;
  settings.early_data.on = true;
  settings.early_data.replay_entries = 1024;
  return settings;
}

struct Free {
  void operator()(SSL_SESSION* s) const { SSL_SESSION_free(s); }
};
using Session = std::unique_ptr<SSL_SESSION, Free>;

class EarlyData : public ::testing::Test {
 protected:
  std::shared_ptr<TicketKeyRing> ring = TicketKeyRing::create(kLifetime);
  TlsSettings settings = early_settings();

  std::shared_ptr<ServerContexts> contexts() { return make_contexts(settings, nullptr, ring); }

  Session first(const Client::Options& options = {.server_name = "example.test"}) {
    Pair pair(contexts(), options);
    EXPECT_TRUE(pair.handshake()) << pair.client->failure() << pair.server->handshake_error;
    EXPECT_FALSE(pair.server->facts.early_data);
    EXPECT_FALSE(pair.server->facts.early_data_refused);
    EXPECT_FALSE(pair.server->facts.handshake_pending);
    pair.settle();
    Session session(pair.client->take_session());
    EXPECT_NE(session, nullptr);
    return session;
  }

  static bool send_early(Pair& pair, std::string_view data) {
    size_t written = 0;
    return SSL_write_early_data(pair.client->ssl(), data.data(), data.size(), &written) == 1 &&
           written == data.size();
  }
  static int status(Pair& pair) { return SSL_get_early_data_status(pair.client->ssl()); }

  // A whole connection with early data: whether it was accepted.
  bool accepted(SSL_SESSION* session, const Client::Options& with = {.server_name = "example.test"},
                const AlpnList& alpn = {"h2", "http/1.1"}) {
    Client::Options options = with;
    // OpenSSL itself would not use a session of TLS 1.3 twice.
    const Session copy(SSL_SESSION_dup(session));
    options.session = copy.get();
    Pair pair(contexts(), options, alpn);
    EXPECT_TRUE(send_early(pair, "early"));
    EXPECT_TRUE(pair.handshake()) << pair.client->failure() << pair.server->handshake_error;
    EXPECT_TRUE(pair.run([&] { return !pair.server->facts.handshake_pending; }));
    pair.client->write("late");
    EXPECT_TRUE(pair.run([&] { return pair.server->received.ends_with("late"); }));
    const bool taken = status(pair) == SSL_EARLY_DATA_ACCEPTED;
    EXPECT_EQ(pair.server->received, taken ? "earlylate" : "late");
    EXPECT_EQ(pair.server->facts.early_data, taken);
    EXPECT_EQ(pair.server->facts.early_data_refused, !taken);
    return taken;
  }
};

TEST_F(EarlyData, IsThereAndCanBeAnsweredBeforeTheFinished) {
  const Session session = first();
  EXPECT_EQ(SSL_SESSION_get_max_early_data(session.get()), settings.early_data.max_bytes);
  Pair pair(contexts(), {.server_name = "example.test", .session = session.get()});
  ASSERT_TRUE(send_early(pair, "question"));
  pair.client->send_out();  // and nothing of the server's flight is read
  ASSERT_TRUE(pair.run([&] { return pair.server->received == "question"; }, false));
  EXPECT_TRUE(pair.server->done);
  EXPECT_TRUE(pair.server->facts.handshake_pending);
  EXPECT_TRUE(pair.server->facts.early_data);
  EXPECT_TRUE(pair.server->facts.resumed);
  EXPECT_EQ(pair.server->facts.tls_version, "TLSv1.3");
  EXPECT_EQ(pair.server->facts.alpn, "http/1.1");
  EXPECT_EQ(pair.server->facts.sni, "example.test");
  EXPECT_TRUE(pair.server->facts.post_quantum);
  pair.server->stream->write_copy(as_bytes("answer"));
  ASSERT_TRUE(pair.run([&] { return pair.client->received == "answer"; }));
  ASSERT_TRUE(pair.run([&] { return !pair.server->facts.handshake_pending; }));
  pair.client->write("more");
  ASSERT_TRUE(pair.run([&] { return pair.server->received == "questionmore"; }));
  pair.server->stream->write_copy(as_bytes("!"));
  ASSERT_TRUE(pair.run([&] { return pair.client->received == "answer!"; }));
  EXPECT_EQ(status(pair), SSL_EARLY_DATA_ACCEPTED);
}

TEST_F(EarlyData, GoodbyesWaitForTheHandshake) {
  const Session session = first();
  Pair pair(contexts(), {.server_name = "example.test", .session = session.get()});
  ASSERT_TRUE(send_early(pair, "question"));
  pair.client->send_out();
  ASSERT_TRUE(pair.run([&] { return pair.server->received == "question"; }, false));
  pair.server->stream->write_copy(as_bytes("answer"));
  pair.server->stream->shutdown_write();
  ASSERT_TRUE(pair.run([&] { return pair.client->received_close_notify; }));
  EXPECT_EQ(pair.client->received, "answer");
}

TEST_F(EarlyData, TheHandshakeGoesOnWhileTheHandlerDoesNotRead) {
  const Session session = first();
  Pair pair(contexts(), {.server_name = "example.test", .session = session.get()});
  pair.server->read_on_event = false;
  ASSERT_TRUE(send_early(pair, "first"));
  pair.client->send_out();
  ASSERT_TRUE(pair.run([&] { return pair.server->done; }, false));
  pair.server->stream->pause_reading();
  ASSERT_TRUE(send_early(pair, "second"));
  ASSERT_TRUE(pair.run([&] { return !pair.server->facts.handshake_pending; }));
  EXPECT_EQ(pair.server->received, "");
  pair.server->read_on_event = true;
  pair.server->stream->resume_reading();
  ASSERT_TRUE(pair.run([&] { return pair.server->received == "firstsecond"; }));
}

TEST_F(EarlyData, ComesInPieces) {
  const Session session = first();
  Pair pair(contexts(), {.server_name = "example.test", .session = session.get()});
  std::string sent;
  std::string all;
  pair.client->rewrite = [&](std::string bytes) {
    sent += bytes;
    return std::string();
  };
  for (int i = 0; i < 50; ++i) {
    const std::string part(1 + static_cast<size_t>(i) * 5, static_cast<char>('a' + i % 26));
    ASSERT_TRUE(send_early(pair, part));
    all += part;
  }
  pair.client->send_out();
  pair.client->rewrite = nullptr;
  for (size_t at = 0; at < sent.size(); at += 7) {
    const std::string piece = sent.substr(at, 7);
    ASSERT_EQ(::send(pair.client->fd(), piece.data(), piece.size(), 0),
              static_cast<ssize_t>(piece.size()));
    pair.loop->run_once(0);
  }
  ASSERT_TRUE(pair.run([&] { return pair.server->received == all; }, false));
  ASSERT_TRUE(pair.run([&] { return !pair.server->facts.handshake_pending; }));
}

TEST_F(EarlyData, ATicketBringsItOnce) {
  const Session session = first();
  EXPECT_TRUE(accepted(session.get()));
  EXPECT_FALSE(accepted(session.get()));
  EXPECT_FALSE(accepted(session.get()));
  EXPECT_TRUE(accepted(first().get()));
}

TEST_F(EarlyData, ACopyOfTheBytesIsRefused) {
  const Session session = first();
  std::string copy;
  {
    Pair pair(contexts(), {.server_name = "example.test", .session = session.get()});
    pair.client->rewrite = [&](std::string bytes) {
      copy += bytes;
      return bytes;
    };
    ASSERT_TRUE(send_early(pair, "once"));
    pair.client->send_out();
    ASSERT_TRUE(pair.run([&] { return pair.server->received == "once"; }, false));
  }
  Pair pair(contexts(), {.server_name = "example.test"});
  ASSERT_EQ(::send(pair.client->fd(), copy.data(), copy.size(), 0),
            static_cast<ssize_t>(copy.size()));
  for (int i = 0; i < 50; ++i) pair.loop->run_once(0);
  EXPECT_FALSE(pair.server->done);
  EXPECT_EQ(pair.server->received, "");
}

TEST_F(EarlyData, AnotherProcessRefusesItAndResumesAllTheSame) {
  // Two machines with the same keys have two stores of used tickets.
  const TicketKey key = make_ticket_key(wall_now());
  ring->install({key});
  const Session session = first();
  ring = TicketKeyRing::create(kLifetime);
  ring->install({key});
  EXPECT_FALSE(accepted(session.get()));
  EXPECT_TRUE(accepted(first().get()));
}

TEST_F(EarlyData, AnotherNameOrProtocolRefusesIt) {
  const Session other = first();
  SSL_SESSION_set1_hostname(other.get(), "other.test");  // or the client itself would refuse
  EXPECT_FALSE(accepted(other.get(), {.server_name = "other.test"}));
  const Session h2 = first({.server_name = "example.test", .alpn = {"h2"}});
  // The same offer, and another choice of the server's.
  const Session both = first({.server_name = "example.test", .alpn = {"h2", "http/1.1"}});
  EXPECT_FALSE(accepted(both.get(), {.server_name = "example.test", .alpn = {"h2", "http/1.1"}},
                        {"http/1.1"}));
  EXPECT_TRUE(accepted(h2.get(), {.server_name = "example.test", .alpn = {"h2"}}));
}

TEST_F(EarlyData, SwitchedOffRefusesIt) {
  const Session session = first();
  settings.early_data.on = false;
  EXPECT_FALSE(accepted(session.get()));
  const Session none = first();
  EXPECT_EQ(SSL_SESSION_get_max_early_data(none.get()), 0u);
}

TEST_F(EarlyData, AHelloRetryRequestRefusesIt) {
  settings.groups = {"P-384"};
  EXPECT_FALSE(accepted(first().get(), {.groups = "P-256:P-384", .server_name = "example.test"}));
}

TEST_F(EarlyData, WithAnEncapsulationInTheTicket) {
  settings.ticket_encapsulation = true;
  EXPECT_TRUE(accepted(first().get()));
}

TEST_F(EarlyData, MoreThanAllowedEndsTheConnection) {
  settings.early_data.max_bytes = 1024;
  const Session session = first();
  // The client is told of more than it was.
  SSL_SESSION_set_max_early_data(session.get(), 16'384);
  Pair pair(contexts(), {.server_name = "example.test", .session = session.get()});
  ASSERT_TRUE(send_early(pair, std::string(1000, 'a')));
  ASSERT_TRUE(send_early(pair, std::string(1000, 'b')));
  pair.client->send_out();
  ASSERT_TRUE(pair.run(
      [&] { return !pair.server->stream_error.empty() || !pair.server->handshake_error.empty(); },
      false));
  EXPECT_LE(pair.server->received.size(), 1024u);
}

TEST_F(EarlyData, AClientThatGoesAwayIsNoticed) {
  const Session session = first();
  Pair pair(contexts(), {.server_name = "example.test", .session = session.get()});
  ASSERT_TRUE(send_early(pair, "question"));
  pair.client->send_out();
  ASSERT_TRUE(pair.run([&] { return pair.server->received == "question"; }, false));
  pair.client->socket().reset();
  ASSERT_TRUE(pair.run([&] { return !pair.server->stream_error.empty(); }, false));
}

TEST_F(EarlyData, FullStoreRefusesIt) {
  ReplayStore& store = ring->replays(settings.early_data.replay_entries);
  const Session session = first();
  ReplayStore::Id id{};
  for (uint64_t i = 1; i < 100'000; ++i) {
    store_be64(id.data(), i * 0x9e3779b97f4a7c15);
    store_be64(id.data() + 8, i * 0xc2b2ae3d27d4eb4f);
    store.use(id);
  }
  EXPECT_FALSE(accepted(session.get()));
}

TEST_F(EarlyData, OldVersionsGoOnAsBefore) {
  settings.min_version = "1.2";
  Pair pair(contexts(), {.max_version = TLS1_2_VERSION});
  ASSERT_TRUE(pair.handshake());
  pair.client->write("hello");
  ASSERT_TRUE(pair.run([&] { return pair.server->received == "hello"; }));
}

}  // namespace
}  // namespace pqedge::crypto::testing
