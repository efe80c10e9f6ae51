#include "route/canary.h"

#include <gtest/gtest.h>

#include <format>
#include <thread>

#include "unit/route/scene.h"

namespace pqedge::route {
namespace {

CanarySettings settings(uint32_t share) {
  CanarySettings s;
  s.pool = "next";
  s.share = share;
  return s;
}

size_t drawn(const Canary& canary, size_t of) {
  size_t n = 0;
  for (size_t i = 0; i < of; ++i) {
    TestScene t;
    n += canary.choose(t.request, true).canary;
  }
  return n;
}

TEST(Canary, SharesAreTextsWithTwoDecimals) {
  EXPECT_EQ(parse_share("0"), 0u);
  EXPECT_EQ(parse_share("100"), 10'000u);
  EXPECT_EQ(parse_share("2.5"), 250u);
  EXPECT_EQ(parse_share("0.25"), 25u);
  for (const char* bad : {"", "-1", "101", "100.01", "2.", ".5", "1.234", "5%", "a", "1.x", "1 "}) {
    EXPECT_FALSE(parse_share(bad)) << bad;
  }
  EXPECT_EQ(share_text(250), "2.5%");
  EXPECT_EQ(share_text(25), "0.25%");
  EXPECT_EQ(share_text(10'000), "100%");
}

TEST(Canary, GetsItsShare) {
  EXPECT_EQ(drawn(Canary(settings(0), "r"), 1000), 0u);
  EXPECT_EQ(drawn(Canary(settings(CanarySettings::kWhole), "r"), 1000), 1000u);
  // Six standard deviations of 20,000 draws at 10 %.
  EXPECT_NEAR(static_cast<double>(drawn(Canary(settings(1000), "r"), 20'000)), 2000, 255);
}

TEST(Canary, ACookieKeepsAClientOnItsSide) {
  CanarySettings s = settings(5000);
  s.sticky_cookie = "side";
  s.cookie_lifetime = 3600 * kSecond;
  const Canary canary(s, "r");
  for (int i = 0; i < 50; ++i) {
    TestScene first;
    const Canary::Side side = canary.choose(first.request, true);
    const std::string set(side.set_cookie);
    ASSERT_TRUE(set.starts_with("side=")) << set;
    EXPECT_TRUE(set.ends_with("; Path=/; Max-Age=3600; HttpOnly; SameSite=Lax; Secure")) << set;
    TestScene again;
    const std::string pair = set.substr(0, set.find(';'));
    again.request.fields.add("Cookie", pair);
    const Canary::Side second = canary.choose(again.request, true);
    EXPECT_EQ(second.canary, side.canary);
    EXPECT_TRUE(second.set_cookie.empty());
  }
}

TEST(Canary, ALargerShareMovesNobodyBack) {
  CanarySettings s = settings(1000);
  s.sticky_cookie = "side";
  Canary canary(s, "r");
  const auto on = [&](int number) {
    TestScene t;
    t.request.fields.add("cookie", t.arena.copy(std::format("x=1; side={}", number)));
    return canary.choose(t.request, true).canary;
  };
  EXPECT_TRUE(on(999));
  EXPECT_FALSE(on(1000));
  canary.set_share(2000);
  EXPECT_TRUE(on(999) && on(1000) && on(1999));
  canary.set_share(500);
  EXPECT_FALSE(on(999));
}

TEST(Canary, WhatIsNoNumberOfOursIsDrawnAnew) {
  CanarySettings s = settings(0);
  s.sticky_cookie = "side";
  const Canary canary(s, "r");
  for (const char* bad :
       {"side=", "side=x", "side=-1", "side=10000", "side=99999999999", "Side=1"}) {
    TestScene t;
    t.request.fields.add("cookie", bad);
    EXPECT_FALSE(canary.choose(t.request, false).set_cookie.empty()) << bad;
    EXPECT_FALSE(canary.choose(t.request, false).set_cookie.ends_with("Secure"));
  }
}

TEST(Canary, AFieldGivesTheSameSideEverywhere) {
  CanarySettings s = settings(5000);
  s.sticky_header = "X-User";
  const Canary one(s, "r");
  const Canary other(s, "r");  // of another process
  size_t canaries = 0;
  for (int i = 0; i < 2000; ++i) {
    TestScene t;
    t.request.fields.add("x-user", t.arena.copy(std::format("user-{}", i)));
    const bool side = one.choose(t.request, true).canary;
    EXPECT_EQ(other.choose(t.request, true).canary, side);
    canaries += side;
  }
  EXPECT_NEAR(static_cast<double>(canaries), 1000, 134);  // six standard deviations
}

TEST(Canary, TestersChooseByAField) {
  CanarySettings s = settings(5000);
  s.override_header = "X-Canary";
  const Canary canary(s, "r");
  for (int i = 0; i < 50; ++i) {
    TestScene t;
    t.request.fields.add("x-canary", i % 2 == 0 ? "always" : "never");
    EXPECT_EQ(canary.choose(t.request, true).canary, i % 2 == 0);
  }
}

class CanaryRollback : public testing::Test {
 protected:
  CanaryRollback() : canary_(make(), "r") {}
  static CanarySettings make() {
    CanarySettings s = settings(1000);
    s.rollback_errors = 2000;  // 20 %
    s.rollback_min_requests = 10;
    s.rollback_window = 10 * kSecond;
    return s;
  }
  void report(int good, int failed) {
    for (int i = 0; i < good; ++i) canary_.report(false, now_);
    for (int i = 0; i < failed; ++i) canary_.report(true, now_);
  }
  Nanos now_ = 1000 * kSecond;
  Canary canary_;
};

TEST_F(CanaryRollback, WhenTooManyFailed) {
  report(8, 1);
  EXPECT_EQ(canary_.share(), 1000u) << "too few requests to say";
  report(0, 1);
  EXPECT_EQ(canary_.share(), 0u);
  EXPECT_TRUE(canary_.rolled_back());
  canary_.set_share(500);
  EXPECT_FALSE(canary_.rolled_back());
  report(0, 1);
  EXPECT_EQ(canary_.share(), 500u) << "the failures from before do not count again";
}

TEST_F(CanaryRollback, NotWhenFewFailed) {
  report(81, 19);
  EXPECT_EQ(canary_.share(), 1000u);
  report(0, 2);
  EXPECT_EQ(canary_.share(), 0u);
}

TEST_F(CanaryRollback, OnlyWithinTheWindow) {
  report(5, 4);
  now_ += 11 * kSecond;
  report(6, 2);
  EXPECT_EQ(canary_.window(now_).requests, 8u);
  EXPECT_EQ(canary_.share(), 1000u);
  now_ += 5 * kSecond;
  report(1, 1);
  EXPECT_EQ(canary_.window(now_).requests, 10u);
  EXPECT_EQ(canary_.share(), 0u);
}

TEST_F(CanaryRollback, WorkersReportTogether) {
  std::vector<std::jthread> workers;
  for (int w = 0; w < 4; ++w) {
    workers.emplace_back([this] {
      for (int i = 0; i < 1000; ++i) canary_.report(false, now_);
    });
  }
  workers.clear();
  EXPECT_EQ(canary_.window(now_).requests, 4000u);
}

}  // namespace
}  // namespace pqedge::route
