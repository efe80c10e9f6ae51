// What a process knows of a server goes on in the one that takes its place.
#include <gtest/gtest.h>

#include <memory>

#include "upstream/server_state.h"

namespace pqedge::upstream {
namespace {

using Known = ServerState::Known;

class ServerKnownTest : public ::testing::Test {
 protected:
  ServerKnownTest() {
    circle_->members = 4;
    rules_.breaker.on = rules_.outlier.on = true;
    rules_.breaker.failures = 0;
    rules_.breaker.error_percent = 0;
    rules_.outlier.failures = 1;
    server_.configure(rules_, circle_, false);
  }
  static ServerSettings settings() {
    ServerSettings s;
    s.address = *net::Address::parse("127.0.0.1:1");
    s.name = "127.0.0.1:1";
    return s;
  }
  void fail_once() {
    Ticket ticket;
    server_.report({.kind = Outcome::Kind::connect_failed}, ticket, now_);
  }
  // The same server in the next process.
  ServerState::Facts next(const Known& known, bool checked = false) {
    next_ = std::make_unique<ServerState>("pool", settings());
    next_->configure(rules_, next_circle_, false);
    next_circle_->members = 4;
    next_->go_on_with(known, checked, now_);
    return next_->facts(now_);
  }

  ServerRules rules_;
  std::shared_ptr<Circle> circle_ = std::make_shared<Circle>();
  std::shared_ptr<Circle> next_circle_ = std::make_shared<Circle>();
  ServerState server_{"pool", settings()};
  std::unique_ptr<ServerState> next_;
  Nanos now_ = 1000 * kSecond;
};

TEST_F(ServerKnownTest, OneThatWasAlwaysUpIsPlain) {
  EXPECT_TRUE(server_.known(now_).is_plain());
  server_.set_draining(true);  // an order, and told as one
  EXPECT_TRUE(server_.known(now_).is_plain());
}

TEST_F(ServerKnownTest, AnEjectionGoesOnForItsTime) {
  fail_once();
  now_ += 10 * kSecond;
  const auto facts = next(server_.known(now_));
  EXPECT_EQ(facts.mode, Mode::ejected);
  EXPECT_EQ(facts.left, 20 * kSecond);
  EXPECT_EQ(facts.ejections, 1u);
  EXPECT_TRUE(facts.reason.starts_with("as before the upgrade: 1 failures in a row"))
      << facts.reason;
  EXPECT_EQ(next_circle_->ejected, 1u);
  const Known again = next_->known(now_);
  EXPECT_TRUE(again.reason.starts_with("1 failures in a row")) << again.reason;
  now_ += 20 * kSecond;
  EXPECT_EQ(next_->standing(now_).use, Standing::Use::ask);
  Ticket ticket;
  EXPECT_TRUE(next_->enter(now_, ticket));
  EXPECT_EQ(next_circle_->ejected, 0u);
}

TEST_F(ServerKnownTest, TheNextEjectionIsLonger) {
  fail_once();
  next(server_.known(now_));
  now_ += 30 * kSecond;
  Ticket ticket;
  ASSERT_TRUE(next_->enter(now_, ticket));
  next_->report({.kind = Outcome::Kind::connect_failed}, ticket, now_);
  EXPECT_EQ(next_->facts(now_).left, 60 * kSecond);
}

TEST_F(ServerKnownTest, NotTooManyAreEjectedThere) {
  fail_once();
  next_circle_->ejected = 3;
  EXPECT_EQ(next(server_.known(now_)).mode, Mode::up);
}

TEST_F(ServerKnownTest, ABreakerStaysOpenAndItsProbesBeginAnew) {
  const Known open{.mode = Mode::open, .time = now_ + 5 * kSecond, .reason = "why"};
  EXPECT_EQ(next(open).left, 5 * kSecond);
  const auto facts = next({.mode = Mode::half_open, .time = now_ + kSecond, .reason = "why"});
  EXPECT_EQ(facts.mode, Mode::open);
  rules_.breaker.on = false;
  EXPECT_EQ(next(open).mode, Mode::up);
}

TEST_F(ServerKnownTest, HalfOpenIsToldAsOpenWithoutAPause) {
  rules_.breaker.failures = 1;
  server_.configure(rules_, circle_, false);
  fail_once();
  now_ += rules_.breaker.pause;
  Ticket ticket;
  ASSERT_TRUE(server_.enter(now_, ticket));
  ASSERT_EQ(server_.facts(now_).mode, Mode::half_open);
  const Known known = server_.known(now_);
  EXPECT_EQ(known.mode, Mode::open);
  EXPECT_EQ(known.time, now_);
}

TEST_F(ServerKnownTest, DownOnlyWhereChecksCanBringItUp) {
  server_.set_checked(false, "3 checks in a row failed", now_);
  EXPECT_EQ(next(server_.known(now_), true).mode, Mode::down);
  EXPECT_EQ(next(server_.known(now_), false).mode, Mode::up);
}

TEST_F(ServerKnownTest, SlowStartGoesOn) {
  fail_once();
  now_ += 30 * kSecond;
  Ticket ticket;
  ASSERT_TRUE(server_.enter(now_, ticket));
  now_ += 2 * kSecond;
  next(server_.known(now_));
  EXPECT_EQ(next_->standing(now_).since, now_ - 2 * kSecond);
}

TEST_F(ServerKnownTest, ARestOfYearsIsNotBelieved) {
  EXPECT_LE(next({.mode = Mode::open, .time = UINT64_MAX >> 8, .reason = ""}).left,
            24 * 3600 * kSecond);
}

}  // namespace
}  // namespace pqedge::upstream
