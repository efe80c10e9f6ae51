// The state machine of a server: who may use it after what became of requests.
#include "upstream/server_state.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace pqedge::upstream {
namespace {

using Kind = Outcome::Kind;
using Use = Standing::Use;

class ServerStateTest : public ::testing::Test {
 protected:
  static ServerSettings settings() {
    ServerSettings s;
    s.address = *net::Address::parse("127.0.0.1:1");
    s.name = "127.0.0.1:1";
    return s;
  }
  void use(const ServerRules& rules, uint32_t members = 3) {
    circle_->members = members;
    server_.configure(rules, circle_, false);
  }
  void breaker(uint32_t failures, uint32_t percent = 0) {
    ServerRules rules;
    rules.breaker.on = true;
    rules.breaker.failures = failures;
    rules.breaker.error_percent = percent;
    use(rules);
  }
  void outlier(uint32_t failures, uint32_t members = 3) {
    ServerRules rules;
    rules.outlier.on = true;
    rules.outlier.failures = failures;
    use(rules, members);
  }
  // One request from its beginning to its end. False: it was not let in.
  bool request(const Outcome& outcome) {
    Ticket ticket;
    if (server_.standing(now_).use == Use::no || !server_.enter(now_, ticket)) return false;
    server_.report(outcome, ticket, now_);
    EXPECT_EQ(ticket.round, 0U);
    return true;
  }
  bool well() { return request({.kind = Kind::answered, .status = 200, .first_byte = 1}); }
  bool bad() { return request({.kind = Kind::answered, .status = 503, .first_byte = 1}); }
  Mode mode() const { return server_.facts(now_).mode; }

  ServerState server_{"pool", settings()};
  std::shared_ptr<Circle> circle_ = std::make_shared<Circle>();
  Nanos now_ = 1000 * kSecond;
};

TEST_F(ServerStateTest, WithoutRulesNothingIsHeldAgainstIt) {
  use({});
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(bad());
  EXPECT_EQ(mode(), Mode::up);
  EXPECT_EQ(server_.standing(now_).since, 0U);
}

TEST_F(ServerStateTest, OpensAfterFailuresInARow) {
  breaker(3);
  bad();
  bad();
  well();  // they are counted anew
  bad();
  bad();
  EXPECT_EQ(mode(), Mode::up);
  bad();
  EXPECT_EQ(mode(), Mode::open);
  EXPECT_EQ(server_.standing(now_).use, Use::no);
  EXPECT_FALSE(well());
  EXPECT_NE(server_.facts(now_).reason.find("status 503"), std::string::npos);
}

TEST_F(ServerStateTest, EachKindOfFailureCountsAndWhatSaysNothingDoesNot) {
  for (const Outcome& o : {Outcome{.kind = Kind::connect_failed}, Outcome{.kind = Kind::timed_out},
                           Outcome{.kind = Kind::reset}, Outcome{Kind::answered, 500, 1}}) {
    breaker(1);
    server_.reset(now_);
    EXPECT_TRUE(request(o));
    EXPECT_EQ(mode(), Mode::open);
  }
  server_.reset(now_);
  for (const Outcome& o : {Outcome{.kind = Kind::nothing}, Outcome{Kind::answered, 404, 1},
                           Outcome{Kind::answered, 501, 1}, Outcome{Kind::answered, 505, 1}}) {
    EXPECT_TRUE(request(o));
    EXPECT_EQ(mode(), Mode::up);
  }
}

TEST_F(ServerStateTest, StatusesThatAreFailuresCanBeNamed) {
  ServerRules rules;
  rules.breaker.on = true;
  rules.breaker.failures = 1;
  rules.failure_statuses = {501};
  use(rules);
  bad();
  EXPECT_EQ(mode(), Mode::up);
  request({Kind::answered, 501, 1});
  EXPECT_EQ(mode(), Mode::open);
}

// After the pause a few probes, and no more; all well: closed.
TEST_F(ServerStateTest, HalfOpenLetsAFewProbesIn) {
  breaker(1);
  bad();
  now_ += 10 * kSecond - 1;
  EXPECT_FALSE(well());
  now_ += 1;
  std::vector<Ticket> tickets;
  for (int i = 0; i < 50; ++i) {
    Ticket t;
    if (server_.standing(now_).use != Use::no && server_.enter(now_, t)) tickets.push_back(t);
  }
  ASSERT_EQ(tickets.size(), 3U);
  EXPECT_EQ(server_.standing(now_).use, Use::no);
  EXPECT_EQ(mode(), Mode::half_open);
  for (Ticket& t : tickets) server_.report({Kind::answered, 200, 1}, t, now_);
  EXPECT_EQ(mode(), Mode::up);
  EXPECT_EQ(server_.standing(now_).since, now_);  // for the slow start
}

TEST_F(ServerStateTest, AProbeThatFailsOpensAgain) {
  breaker(1);
  bad();
  now_ += 10 * kSecond;
  Ticket first;
  Ticket second;
  ASSERT_TRUE(server_.enter(now_, first));
  ASSERT_TRUE(server_.enter(now_, second));
  server_.report({.kind = Kind::reset}, first, now_);
  EXPECT_EQ(mode(), Mode::open);
  // What an earlier round says changes nothing, also not in the next one.
  now_ += 10 * kSecond;
  Ticket third;
  ASSERT_TRUE(server_.enter(now_, third));
  server_.report({.kind = Kind::reset}, second, now_);
  EXPECT_EQ(mode(), Mode::half_open);
}

// A server that hangs: its probes never end, and they are all it gets, for each pause.
TEST_F(ServerStateTest, ProbesThatHangOpenAgain) {
  breaker(1);
  bad();
  for (int round = 0; round < 5; ++round) {
    now_ += 10 * kSecond;
    int let_in = 0;
    for (int i = 0; i < 20; ++i) {
      Ticket t;
      let_in += server_.standing(now_).use != Use::no && server_.enter(now_, t) ? 1 : 0;
    }
    EXPECT_EQ(let_in, 3);
    now_ += 5 * kSecond;
    Ticket t;
    EXPECT_EQ(server_.standing(now_).use, Use::ask);
    EXPECT_FALSE(server_.enter(now_, t));
    EXPECT_EQ(mode(), Mode::open);
  }
}

TEST_F(ServerStateTest, APlaceThatWasNotUsedIsGivenBack) {
  breaker(1);
  bad();
  now_ += 10 * kSecond;
  for (int i = 0; i < 20; ++i) {
    Ticket t;
    ASSERT_TRUE(server_.enter(now_, t));
    server_.leave(t);
    Ticket u;
    ASSERT_TRUE(server_.enter(now_, u));
    server_.report({.kind = Kind::nothing}, u, now_);
  }
  EXPECT_EQ(mode(), Mode::half_open);
}

TEST_F(ServerStateTest, OpensByTheShareOfAWindow) {
  breaker(0, 50);
  for (int i = 0; i < 9; ++i) bad();  // too few to say anything
  for (int i = 0; i < 9; ++i) well();
  EXPECT_EQ(mode(), Mode::up);
  well();
  EXPECT_EQ(mode(), Mode::up);
  bad();  // 10 of 20
  EXPECT_EQ(mode(), Mode::open);
}

TEST_F(ServerStateTest, ANewWindowBeginsAnew) {
  breaker(0, 50);
  for (int i = 0; i < 19; ++i) bad();
  now_ += 10 * kSecond;
  bad();
  EXPECT_EQ(mode(), Mode::up);
}

TEST_F(ServerStateTest, EjectionIsLongerEachTimeAndForgiven) {
  outlier(2);
  const auto eject = [this] {
    bad();
    bad();
    EXPECT_EQ(mode(), Mode::ejected);
    return server_.facts(now_).left;
  };
  EXPECT_EQ(eject(), 30 * kSecond);
  EXPECT_EQ(circle_->ejected, 1U);
  now_ += 30 * kSecond;
  EXPECT_TRUE(well());
  EXPECT_EQ(circle_->ejected, 0U);
  EXPECT_EQ(server_.standing(now_).since, now_);
  EXPECT_EQ(eject(), 60 * kSecond);
  now_ += 60 * kSecond;
  EXPECT_TRUE(well());
  now_ += 120 * kSecond;  // of good behaviour
  EXPECT_EQ(eject(), 30 * kSecond);
}

TEST_F(ServerStateTest, NeverTheLastAndNotTooMany) {
  outlier(1, 1);
  bad();
  EXPECT_EQ(mode(), Mode::up);
  outlier(1, 4);
  circle_->ejected = 2;  // one more would be three quarters
  bad();
  EXPECT_EQ(mode(), Mode::up);
  circle_->ejected = 1;
  bad();
  EXPECT_EQ(mode(), Mode::ejected);
}

TEST_F(ServerStateTest, ChecksAreAboveAll) {
  breaker(1);
  bad();
  server_.set_checked(false, "connection refused", now_);
  EXPECT_EQ(mode(), Mode::down);
  now_ += 3600 * kSecond;
  EXPECT_FALSE(well());
  server_.set_checked(true, "status 200", now_);
  EXPECT_EQ(mode(), Mode::up);
  EXPECT_EQ(server_.standing(now_).since, now_);
  EXPECT_EQ(server_.facts(now_).transitions, 3U);
}

TEST_F(ServerStateTest, RulesThatAreGoneLetItOut) {
  breaker(1);
  bad();
  use({});
  EXPECT_EQ(mode(), Mode::up);
  outlier(1);
  bad();
  ASSERT_EQ(mode(), Mode::ejected);
  use({});
  EXPECT_EQ(mode(), Mode::up);
  EXPECT_EQ(circle_->ejected, 0U);
}

TEST_F(ServerStateTest, DrainingIsBesideTheState) {
  breaker(1);
  server_.set_draining(true);
  EXPECT_TRUE(server_.standing(now_).draining);
  bad();
  EXPECT_TRUE(server_.standing(now_).draining);
  server_.set_draining(false);
  EXPECT_FALSE(server_.standing(now_).draining);
  EXPECT_EQ(mode(), Mode::open);
}

// Many threads at once: never more probes than there are places.
TEST_F(ServerStateTest, PlacesHoldOverThreads) {
  breaker(1);
  bad();
  now_ += 10 * kSecond;
  std::atomic<int> let_in{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 1000; ++n) {
        Ticket t;
        if (server_.standing(now_).use != Use::no && server_.enter(now_, t)) ++let_in;
      }
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(let_in, 3);
}

TEST(RegistryTest, TheSameServerHasOneState) {
  Registry registry;
  ServerSettings s;
  s.address = *net::Address::parse("127.0.0.1:1");
  const auto a = registry.get("p", s);
  EXPECT_EQ(registry.get("p", s), a);
  EXPECT_NE(registry.get("q", s), a);
  for (uint16_t port = 2; port < 500; ++port) {  // forgotten ones are swept away meanwhile
    s.address = net::Address::from_ip("127.0.0.1", port).value();
    EXPECT_EQ(registry.get("p", s)->address, s.address);
  }
  s.address = *net::Address::parse("127.0.0.1:1");
  EXPECT_EQ(registry.get("p", s), a);
}

}  // namespace
}  // namespace pqedge::upstream
