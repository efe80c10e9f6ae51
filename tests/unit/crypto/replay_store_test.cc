// Each ticket brings early data once (RFC 8446 8.1), in bounded memory.
#include "crypto/replay_store.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace pqedge::crypto {
namespace {

Nanos test_time = 0;
Nanos test_clock() { return test_time; }

ReplayStore::Id ticket(uint64_t number) {
  ReplayStore::Id id{};
  for (size_t i = 0; i < id.size(); ++i) {
    number = number * 6364136223846793005 + 1442695040888963407;
    id[i] = static_cast<uint8_t>(number >> 56);
  }
  return id;
}

TEST(ReplayStore, TakesATicketOnce) {
  ReplayStore store(1000, &test_clock);
  for (uint64_t i = 0; i < 300; ++i)
    EXPECT_EQ(store.use(ticket(i)), ReplayStore::Verdict::fresh) << i;
  for (uint64_t i = 0; i < 300; ++i)
    EXPECT_EQ(store.use(ticket(i)), ReplayStore::Verdict::used) << i;
}

TEST(ReplayStore, RemembersForAWindowAtLeast) {
  // Whenever in a generation a ticket comes.
  for (uint64_t i = 0; i < 90; ++i) {
    test_time = 1000 * kSecond;
    ReplayStore store(64, &test_clock);
    test_time += ReplayStore::kWindow * i / 40;
    const Nanos came = test_time;
    ASSERT_EQ(store.use(ticket(i)), ReplayStore::Verdict::fresh);
    for (const Nanos later : {Nanos{0}, ReplayStore::kWindow / 2, ReplayStore::kWindow - 1}) {
      test_time = came + later;
      EXPECT_EQ(store.use(ticket(i)), ReplayStore::Verdict::used) << i << " " << later;
    }
  }
}

TEST(ReplayStore, ForgetsAfterTwoWindows) {
  test_time = 1000 * kSecond;
  ReplayStore store(1000, &test_clock);
  EXPECT_EQ(store.use(ticket(1)), ReplayStore::Verdict::fresh);
  test_time += 2 * ReplayStore::kWindow;
  EXPECT_EQ(store.use(ticket(1)), ReplayStore::Verdict::fresh);
}

TEST(ReplayStore, RefusesWhenItIsFullAndHasRoomAgainLater) {
  test_time = 1000 * kSecond;
  ReplayStore store(64, &test_clock);
  uint64_t number = 0;
  size_t refused = 0;
  for (; refused < 100 && number < 1'000'000; ++number) {
    refused += store.use(ticket(number)) == ReplayStore::Verdict::full ? 1 : 0;
  }
  EXPECT_EQ(refused, 100u);
  // What was remembered still is.
  EXPECT_EQ(store.use(ticket(0)), ReplayStore::Verdict::used);
  test_time += ReplayStore::kWindow;
  EXPECT_EQ(store.use(ticket(0)), ReplayStore::Verdict::used);
  EXPECT_EQ(store.use(ticket(number)), ReplayStore::Verdict::fresh);
}

TEST(ReplayStore, HoldsWhatItSays) {
  ReplayStore store(131'072, &test_clock);
  size_t fresh = 0;
  for (uint64_t i = 0; i < 131'072; ++i)
    fresh += store.use(ticket(i)) == ReplayStore::Verdict::fresh;
  EXPECT_EQ(fresh, 131'072u);
}

TEST(ReplayStore, OneOfManyThreadsWins) {
  ReplayStore store(100'000, &test_clock);
  std::atomic<size_t> wins = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (uint64_t i = 0; i < 20'000; ++i) {
        if (store.use(ticket(i)) == ReplayStore::Verdict::fresh) ++wins;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wins, 20'000u);
}

TEST(ReplayStore, TwoStoresHaveTwoNames) { EXPECT_NE(ReplayStore(64).id(), ReplayStore(64).id()); }

}  // namespace
}  // namespace pqedge::crypto
