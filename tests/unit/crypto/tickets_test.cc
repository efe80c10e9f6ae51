// The ring of ticket keys, and resumption with it.
#include <gtest/gtest.h>

#include "unit/crypto/tls_pair.h"

namespace pqedge::crypto::testing {
namespace {

constexpr Nanos kLifetime = 7200 * kSecond;

Nanos test_time = 0;
Nanos test_clock() { return test_time; }

class Tickets : public ::testing::Test {
 protected:
  void SetUp() override { test_time = 1000 * kSecond; }
  std::shared_ptr<TicketKeyRing> ring = TicketKeyRing::create(kLifetime, &test_clock);

  // A handshake over new contexts: another worker, or after a reload.
  SSL_SESSION* connect(SSL_SESSION* session, bool& resumed, const TlsSettings& settings = {}) {
    Pair pair(make_contexts(settings, nullptr, ring),
              {.server_name = "example.test", .session = session});
    EXPECT_TRUE(pair.handshake()) << pair.client->failure() << pair.server->handshake_error;
    pair.settle();
    EXPECT_EQ(pair.client->resumed(), pair.server->facts.resumed);
    EXPECT_EQ(pair.server->facts.sni, "example.test");
    EXPECT_EQ(pair.server->facts.group.empty(), false);
    resumed = pair.server->facts.resumed;
    SSL_SESSION* fresh = pair.client->take_session();
    if (session != nullptr) SSL_SESSION_free(session);
    return fresh;
  }
};

TEST_F(Tickets, ResumeOnAnotherWorkerAndAfterAReload) {
  bool resumed = true;
  SSL_SESSION* session = connect(nullptr, resumed);
  EXPECT_FALSE(resumed);
  ASSERT_NE(session, nullptr);
  for (int i = 0; i < 3; ++i) {
    session = connect(session, resumed);
    EXPECT_TRUE(resumed) << i;
    // A ticket is used once, so each resumption brings another (RFC 8446 C.4).
    ASSERT_NE(session, nullptr);
  }
  SSL_SESSION_free(session);
}

TEST_F(Tickets, ResumeOverTls12) {
  bool resumed = true;
  const TlsSettings settings = {.min_version = "1.2"};
  Pair first(make_contexts(settings, nullptr, ring), {.max_version = TLS1_2_VERSION});
  ASSERT_TRUE(first.handshake());
  first.settle();
  SSL_SESSION* session = SSL_get1_session(first.client->ssl());
  Pair second(make_contexts(settings, nullptr, ring),
              {.max_version = TLS1_2_VERSION, .session = session});
  ASSERT_TRUE(second.handshake());
  resumed = second.server->facts.resumed;
  EXPECT_TRUE(resumed);
  SSL_SESSION_free(session);
}

TEST_F(Tickets, TheLastTicketOfAKeyIsHonouredForItsLifetime) {
  bool resumed = true;
  const TicketKey first = ring->current(test_time);
  test_time += kLifetime / 2 - kSecond;
  EXPECT_EQ(ring->current(test_time).name, first.name);
  SSL_SESSION* session = connect(nullptr, resumed);
  test_time += kLifetime - kSecond;
  session = connect(session, resumed);
  EXPECT_TRUE(resumed);
  SSL_SESSION_free(session);
}

TEST_F(Tickets, ExpiredKeyMeansAFullHandshake) {
  bool resumed = true;
  SSL_SESSION* session = connect(nullptr, resumed);
  test_time += 2 * kLifetime;
  session = connect(session, resumed);
  EXPECT_FALSE(resumed);
  session = connect(session, resumed);
  EXPECT_TRUE(resumed);
  SSL_SESSION_free(session);
}

TEST_F(Tickets, ForeignTicketMeansAFullHandshake) {
  bool resumed = true;
  SSL_SESSION* session = connect(nullptr, resumed);
  ring = TicketKeyRing::create(kLifetime, &test_clock);
  session = connect(session, resumed);
  EXPECT_FALSE(resumed);
  SSL_SESSION_free(session);
}

TEST_F(Tickets, AnotherPolicyDoesNotHonourThem) {
  bool resumed = true;
  SSL_SESSION* session = connect(nullptr, resumed, {.groups = {"compatible"}});
  session = connect(session, resumed, {.groups = {"hybrid-required"}});
  EXPECT_FALSE(resumed);
  SSL_SESSION_free(session);
}

TEST_F(Tickets, SwitchedOff) {
  bool resumed = true;
  SSL_SESSION* session = connect(nullptr, resumed);
  SSL_SESSION* none = connect(session, resumed, {.session_tickets = false});
  EXPECT_FALSE(resumed);
  EXPECT_EQ(none, nullptr);
}

TEST_F(Tickets, KeysRollAtHalfOfTheLifetime) {
  const TicketKey first = ring->current(test_time);
  test_time += kLifetime / 2;
  const TicketKey second = ring->current(test_time);
  EXPECT_NE(first.name, second.name);
  EXPECT_NE(first.key, second.key);
  EXPECT_NE(first.mac, second.mac);
  const auto old = ring->find(first.name.data(), test_time);
  ASSERT_TRUE(old);
  EXPECT_EQ(old->key.key, first.key);
  EXPECT_TRUE(old->renew);
  const auto fresh = ring->find(second.name.data(), test_time);
  ASSERT_TRUE(fresh);
  EXPECT_FALSE(fresh->renew);
  test_time = first.created + kLifetime + kLifetime / 2;
  EXPECT_FALSE(ring->find(first.name.data(), test_time));
  EXPECT_TRUE(ring->find(second.name.data(), test_time));
}

// ---- keys of a store

TEST_F(Tickets, TheNextKeyOfAStoreOpensBeforeItSeals) {
  const TicketKey old = make_ticket_key(test_time - 100 * kSecond);
  const TicketKey next = make_ticket_key(test_time + 300 * kSecond);
  ring->install({old, next}, &test_clock);
  EXPECT_EQ(ring->current(test_time).name, old.name);
  // A machine whose clock is ahead seals with it already.
  ASSERT_TRUE(ring->find(next.name.data(), test_time));
  EXPECT_FALSE(ring->find(next.name.data(), test_time)->renew);
  test_time += 300 * kSecond;
  EXPECT_EQ(ring->current(test_time).name, next.name);
  ASSERT_TRUE(ring->find(old.name.data(), test_time));
  EXPECT_TRUE(ring->find(old.name.data(), test_time)->renew);
  // The last ticket of the old key lives as long as any.
  test_time += kLifetime;
  EXPECT_TRUE(ring->find(old.name.data(), test_time));
  test_time += 61 * kSecond;
  EXPECT_FALSE(ring->find(old.name.data(), test_time));
  // Nobody rotates: what there is stays in use.
  test_time += 100 * kLifetime;
  EXPECT_EQ(ring->current(test_time).name, next.name);
  EXPECT_TRUE(ring->find(next.name.data(), test_time));
}

TEST_F(Tickets, AStoreWhoseKeysHaveNotBegunIsUsedAllTheSame) {
  const TicketKey soon = make_ticket_key(test_time + 50 * kSecond);
  const TicketKey later = make_ticket_key(test_time + 500 * kSecond);
  ring->install({later, soon}, &test_clock);
  EXPECT_EQ(ring->current(test_time).name, soon.name);
}

TEST_F(Tickets, TwoRingsOfOneStoreResumeEachOthersSessions) {
  const TicketKey key = make_ticket_key(test_time);
  for (const bool encapsulated : {false, true}) {
    const TlsSettings settings = {.ticket_encapsulation = encapsulated};
    const auto a = TicketKeyRing::create(kLifetime, &test_clock);
    const auto b = TicketKeyRing::create(kLifetime, &test_clock);
    a->install({key}, &test_clock);
    b->install({key}, &test_clock);
    bool resumed = true;
    ring = a;
    SSL_SESSION* session = connect(nullptr, resumed, settings);
    EXPECT_FALSE(resumed);
    ring = b;
    session = connect(session, resumed, settings);
    EXPECT_TRUE(resumed);
    b->use_own();
    session = connect(session, resumed, settings);
    EXPECT_FALSE(resumed);
    SSL_SESSION_free(session);
  }
}

// ---- an encapsulation in each ticket

size_t ticket_size(SSL_SESSION* session) {
  const unsigned char* ticket = nullptr;
  size_t size = 0;
  SSL_SESSION_get0_ticket(session, &ticket, &size);
  return size;
}

TEST_F(Tickets, AnEncapsulationCostsItsBytesAndCanBeSwitched) {
  bool resumed = true;
  const TlsSettings with = {.ticket_encapsulation = true};
  SSL_SESSION* session = connect(nullptr, resumed);
  const size_t plain = ticket_size(session);
  session = connect(session, resumed, with);
  EXPECT_TRUE(resumed);
  const size_t encapsulated = ticket_size(session);
  // The ciphertext, two bytes for its place, and what DER and the application data need around it.
  // (DER's numbers change their length with the time.)
  EXPECT_GE(encapsulated, plain + 1568);
  EXPECT_LE(encapsulated, plain + 1568 + 32);
  for (int i = 0; i < 3; ++i) {
    session = connect(session, resumed, with);
    EXPECT_TRUE(resumed);
    EXPECT_NEAR(static_cast<double>(ticket_size(session)), static_cast<double>(encapsulated), 4);
  }
  session = connect(session, resumed);
  EXPECT_TRUE(resumed);
  EXPECT_NEAR(static_cast<double>(ticket_size(session)), static_cast<double>(plain), 4);
  SSL_SESSION_free(session);
}

TEST_F(Tickets, AnEncapsulationOverTls12) {
  const TlsSettings settings = {.min_version = "1.2", .ticket_encapsulation = true};
  Pair first(make_contexts(settings, nullptr, ring), {.max_version = TLS1_2_VERSION});
  ASSERT_TRUE(first.handshake());
  first.settle();
  SSL_SESSION* session = SSL_get1_session(first.client->ssl());
  EXPECT_GT(ticket_size(session), 1568u);
  Pair second(make_contexts(settings, nullptr, ring),
              {.max_version = TLS1_2_VERSION, .session = session});
  ASSERT_TRUE(second.handshake());
  EXPECT_TRUE(second.server->facts.resumed);
  SSL_SESSION_free(session);
}

TEST_F(Tickets, ShorterLifetimeTakesEffect) {
  const TicketKey first = ring->current(test_time);
  test_time += 90 * kSecond;
  ring->set_lifetime(60 * kSecond);
  EXPECT_FALSE(ring->find(first.name.data(), test_time));
  EXPECT_NE(ring->current(test_time).name, first.name);
}

TEST_F(Tickets, TheNumberOfKeysIsBounded) {
  std::vector<TicketKey> made;
  for (int i = 0; i < 40; ++i) {
    test_time += kLifetime;
    ring->set_lifetime(kLifetime * (i % 2 == 0 ? 1 : 100));
    made.push_back(ring->current(test_time));
  }
  size_t alive = 0;
  for (const TicketKey& key : made) alive += ring->find(key.name.data(), test_time) ? 1 : 0;
  EXPECT_LE(alive, 9u);
}

}  // namespace
}  // namespace pqedge::crypto::testing
