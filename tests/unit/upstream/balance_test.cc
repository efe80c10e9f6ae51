#include "upstream/balance.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "support.h"
#include "upstream/hash.h"

namespace pqedge::upstream {
namespace {

std::string sequence(Balancer& b, size_t n) {
  std::string out;
  for (size_t i = 0; i < n; ++i) out += static_cast<char>('a' + first_of(b));
  return out;
}

TEST(RoundRobin, IsSmoothByWeight) {
  // The sequence of nginx's change 52327e0627f4 for the weights 5, 1, 1; each worker begins at some
  // point of it.
  const std::string cycle = "aabacaa";
  for (uint64_t seed = 1; seed < 20; ++seed) {
    const Members members = members_with({5, 1, 1});
    Balancer b(pool_with(Balance::round_robin), seed);
    b.set_members(members);
    const std::string seen = sequence(b, 14);
    EXPECT_EQ(seen.substr(0, 7), seen.substr(7));
    EXPECT_NE((cycle + cycle).find(seen.substr(0, 7)), std::string::npos) << seen;
  }
}

TEST(RoundRobin, HoldsOverWorkersThatGetFewRequestsEach) {
  const Members members = members_with({1, 1, 1, 1});
  std::vector<int> seen(4);
  for (uint64_t worker = 0; worker < 400; ++worker) {
    Balancer b(pool_with(Balance::round_robin), worker);
    b.set_members(members);
    ++seen[first_of(b)];  // one request each
  }
  for (const int n : seen) EXPECT_NEAR(n, 100, 40);
}

TEST(LeastConnections, TakesTheLeastBusyForItsWeight) {
  const Members members = members_with({1, 4, 1});
  Balancer b(pool_with(Balance::least_connections), 1);
  b.set_members(members);
  members[0].state->active = 1;
  members[1].state->active = 3;
  members[2].state->active = 2;
  EXPECT_EQ(first_of(b), 1u) << "3 of 4 are less than 1 of 1";
  members[1].state->active = 5;
  EXPECT_EQ(first_of(b), 0u);
}

TEST(LeastConnections, EqualsTakeTurnsByWeight) {
  const Members members = members_with({3, 1});
  Balancer b(pool_with(Balance::least_connections), 1);
  b.set_members(members);
  std::map<size_t, int> seen;
  for (int i = 0; i < 400; ++i) ++seen[first_of(b)];
  EXPECT_EQ(seen[0], 300);
  EXPECT_EQ(seen[1], 100);
}

// Requests of different length, begun and ended in turn by four workers that share nothing but the
// servers' counts.
TEST(LeastConnections, HoldsOverAllWorkers) {
  const Members members = members_with({2, 1, 1});
  std::vector<std::unique_ptr<Balancer>> workers;
  for (uint64_t w = 0; w < 4; ++w) {
    workers.push_back(std::make_unique<Balancer>(pool_with(Balance::least_connections), w));
    workers.back()->set_members(members);
  }
  std::multimap<int, size_t> ends;  // when, which server
  for (int t = 0; t < 4000; ++t) {
    for (auto it = ends.begin(); it != ends.end() && it->first <= t; it = ends.erase(it)) {
      --members[it->second].state->active;
    }
    const size_t at = first_of(*workers[static_cast<size_t>(t) % 4]);
    ++members[at].state->active;
    ends.emplace(t + 100 + static_cast<int>(mix(static_cast<uint64_t>(t)) % 200), at);
    if (t < 400) continue;
    const double all = static_cast<double>(ends.size());
    ASSERT_NEAR(members[0].state->active, all / 2, all * 0.05);
    ASSERT_NEAR(members[1].state->active, all / 4, all * 0.05);
    ASSERT_NEAR(members[2].state->active, all / 4, all * 0.05);
  }
}

TEST(RandomTwo, SharesByWeightAndAvoidsTheBusiest) {
  const Members members = members_with({1, 1, 2});
  Balancer b(pool_with(Balance::random_two), 7);
  b.set_members(members);
  std::map<size_t, int> seen;
  for (int i = 0; i < 40000; ++i) ++seen[first_of(b)];
  EXPECT_NEAR(seen[0], 10000, 500);
  EXPECT_NEAR(seen[2], 20000, 1000);
  seen.clear();
  members[1].state->active = 1000;
  for (int i = 0; i < 40000; ++i) ++seen[first_of(b)];
  // It is taken only where both draws were it: 1/4 * 1/4.
  EXPECT_NEAR(seen[1], 2500, 250);
}

TEST(Hash, AServerThatGoesMovesItsKeysAndNoOthers) {
  const Members members = members_with({1, 1, 1, 1, 1});
  Balancer b(pool_with(Balance::hash), 1);
  b.set_members(members);
  std::vector<size_t> before;
  std::map<size_t, int> share;
  for (uint64_t key = 0; key < 20000; ++key) {
    before.push_back(first_of(b, keyed(stable_hash(std::to_string(key)))));
    ++share[before.back()];
  }
  for (const auto& [at, n] : share) EXPECT_NEAR(n, 4000, 200) << at;
  members[2].state->set_draining(true);
  share.clear();
  for (uint64_t key = 0; key < 20000; ++key) {
    const size_t now = first_of(b, keyed(stable_hash(std::to_string(key))));
    if (before[key] != 2) {
      ASSERT_EQ(now, before[key]) << key;
    } else {
      ++share[now];
    }
  }
  EXPECT_EQ(share.size(), 4u) << "the keys go to all that are left";
  for (const auto& [at, n] : share) EXPECT_NEAR(n, 1000, 120) << at;
  members[2].state->set_draining(false);
  for (uint64_t key = 0; key < 20000; ++key) {
    ASSERT_EQ(first_of(b, keyed(stable_hash(std::to_string(key)))), before[key]);
  }
}

TEST(Hash, IsTheSameInEveryWorkerAndInAnyOrderOfServers) {
  const Members members = members_with({1, 3, 2});
  Members reversed(members.rbegin(), members.rend());
  Balancer a(pool_with(Balance::hash), 1);
  Balancer b(pool_with(Balance::hash), 2);
  a.set_members(members);
  b.set_members(reversed);
  std::map<size_t, int> share;
  for (uint64_t key = 0; key < 6000; ++key) {
    const Choice c = keyed(stable_hash(std::to_string(key)));
    const size_t at = first_of(a, c);
    ASSERT_EQ(2 - at, first_of(b, c));
    ++share[at];
  }
  EXPECT_NEAR(share[0], 1000, 150);
  EXPECT_NEAR(share[1], 3000, 150);
  EXPECT_NEAR(share[2], 2000, 150);
}

TEST(Hash, WithoutAKeyTakesTurns) {
  const Members members = members_with({1, 1});
  Balancer b(pool_with(Balance::hash), 1);
  b.set_members(members);
  EXPECT_NE(first_of(b), first_of(b));
}

TEST(LeastTime, TakesTheFastAndSharesAmongThemEvenly) {
  const Members members = members_with({1, 1, 1});
  Balancer b(pool_with(Balance::least_time), 1);
  b.set_members(members);
  for (const auto& [at, time] : {std::pair{0, 10}, std::pair{1, 11}, std::pair{2, 80}}) {
    for (int i = 0; i < 50; ++i) {
      members[static_cast<size_t>(at)].state->latency.observe(
          static_cast<Nanos>(time) * kMillisecond, kSecond);
    }
  }
  std::map<size_t, int> seen;
  for (int i = 0; i < 100; ++i) ++seen[first_of(b)];
  EXPECT_EQ(seen[0], 50) << "a tenth more is noise";
  EXPECT_EQ(seen[1], 50);
  members[0].state->active = members[1].state->active = 20;
  EXPECT_EQ(first_of(b), 2u) << "the fast ones are busy";
}

TEST(LeastTime, WhoIsNewCountsAsTheFastest) {
  const Members members = members_with({1, 1});
  Balancer b(pool_with(Balance::least_time), 1);
  b.set_members(members);
  members[0].state->latency.observe(20 * kMillisecond, kSecond);
  std::map<size_t, int> seen;
  for (int i = 0; i < 20; ++i) {
    const size_t at = first_of(b);
    ++seen[at];
    ++members[at].state->active;
  }
  EXPECT_EQ(seen[0], 10);
}

TEST(LeastTime, ASlowTimeIsForgotten) {
  Latency latency;
  latency.observe(800 * kMillisecond, kSecond);
  EXPECT_EQ(latency.average(kSecond), 800'000u);
  EXPECT_LT(latency.average(60 * kSecond), 1000u);
}

TEST(Candidates, WhoIsInDoubtComesAfterAllPriorities) {
  Members members = members_with({1, 1, 1});
  members[2].settings.priority = 1;
  Balancer b(pool_with(Balance::round_robin), 1);
  b.set_members(members);
  for (int i = 0; i < 10; ++i) EXPECT_NE(first_of(b), 2u);
  members[0].state->passed_over_until = 2 * kSecond;
  for (int i = 0; i < 10; ++i) EXPECT_EQ(first_of(b), 1u);
  members[1].state->set_checked(false, "test", kSecond);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(first_of(b), 2u) << "failover";
  members[2].state->set_draining(true);
  EXPECT_EQ(first_of(b), 0u) << "in doubt is better than nothing";
  members[0].state->set_checked(false, "test", kSecond);
  EXPECT_EQ(b.begin({}, kSecond), Balancer::Found::none);
  members[1].state->set_checked(true, "test", kSecond);
  EXPECT_EQ(first_of(b), 1u);
}

TEST(Candidates, WhoFailedTheRequestComesLast) {
  Members members = members_with({1, 1});
  members[1].settings.priority = 5;
  Balancer b(pool_with(Balance::round_robin), 1);
  b.set_members(members);
  Choice c;
  c.avoid(members[0].state.get());
  EXPECT_EQ(first_of(b, c), 1u);
  c.avoid(members[1].state.get());
  EXPECT_EQ(first_of(b, c), 0u);
}

TEST(Candidates, EachIsNamedOnceThenTheNextClass) {
  Members members = members_with({1, 1, 1, 1});
  members[3].settings.priority = 1;
  Balancer b(pool_with(Balance::least_connections), 1);
  b.set_members(members);
  ASSERT_EQ(b.begin({}, kSecond), Balancer::Found::some);
  std::map<size_t, int> seen;
  for (size_t at; (at = b.next()) != Balancer::kNone;) ++seen[at];
  EXPECT_EQ(seen, (std::map<size_t, int>{{0, 1}, {1, 1}, {2, 1}}));
  ASSERT_EQ(b.begin_next({}), Balancer::Found::some);
  EXPECT_EQ(b.next(), 3u);
  EXPECT_EQ(b.next(), Balancer::kNone);
  EXPECT_EQ(b.begin_next({}), Balancer::Found::none);
}

TEST(Candidates, FullIsNotDown) {
  Members members = members_with({1, 1});
  members[1].settings.priority = 1;
  PoolSettings settings = pool_with(Balance::round_robin);
  settings.max_requests = 2;
  Balancer b(settings, 1);
  b.set_members(members);
  members[0].state->active = 2;
  EXPECT_EQ(b.begin({}, kSecond), Balancer::Found::full) << "no failover for busy servers";
  members[0].state->active = 1;
  EXPECT_EQ(first_of(b), 0u);
}

TEST(Candidates, AWeightOfZeroTakesNobodyNew) {
  const Members members = members_with({0, 1});
  Balancer b(pool_with(Balance::round_robin), 1);
  b.set_members(members);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(first_of(b), 1u);
}

TEST(SlowStart, GrowsFromATenth) {
  const Members members = members_with({1, 1});
  PoolSettings settings = pool_with(Balance::round_robin);
  settings.slow_start = 10 * kSecond;
  Balancer b(settings, 1);
  b.set_members(members);
  members[0].state->set_checked(false, "test", 100 * kSecond);
  members[0].state->set_checked(true, "test", 100 * kSecond);
  const auto share = [&](Nanos now) {
    int n = 0;
    for (int i = 0; i < 1100; ++i) n += first_of(b, {}, now) == 0 ? 1 : 0;
    return n / 1100.0;
  };
  EXPECT_NEAR(share(100 * kSecond), 0.1 / 1.1, 0.01);
  EXPECT_NEAR(share(105 * kSecond), 0.5 / 1.5, 0.01);
  EXPECT_NEAR(share(110 * kSecond), 0.5, 0.01);
}

}  // namespace
}  // namespace pqedge::upstream
