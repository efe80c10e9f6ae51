#include "measure/timing/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "measure/stats/summary.h"

namespace pqedge::measure {
namespace {

void spin(Nanos time) {
  const Nanos end = monotonic_now() + time;
  while (monotonic_now() < end) {
  }
}

struct Counted {
  size_t prepared = 0, ran = 0;
  Operation operation(Nanos run_time = 50 * kMicrosecond) {
    return {[this]() -> Result<void> {
              EXPECT_EQ(prepared, ran);  // one preparation for each run, just before it
              ++prepared;
              return {};
            },
            [this, run_time]() -> Result<void> {
              ++ran;
              spin(run_time);
              return {};
            }};
  }
};

TEST(TimingSampler, CountEndsTheLoop) {
  Counted counted;
  const auto samples = sample(counted.operation(), {.warm_ups = 5, .iterations = 20});
  ASSERT_TRUE(samples) << samples.error().message;
  EXPECT_EQ(samples->size(), 20u);
  EXPECT_EQ(counted.prepared, 25u);
  EXPECT_EQ(counted.ran, 25u);
  // What took at least 50 us by the same clock is not told shorter than that less one reading.
  const double least = 50 - clock_facts().overhead_ns / 1000;
  EXPECT_GE(std::ranges::min(*samples), least);
}

TEST(TimingSampler, TimeEndsTheLoopButNotBelowTheLeast) {
  Counted counted;
  const auto samples =
      sample(counted.operation(), {.warm_ups = 0, .iterations = 1000, .least = 10, .time = 1});
  ASSERT_TRUE(samples);
  EXPECT_EQ(samples->size(), 10u);
  const auto more =
      sample(counted.operation(), {.warm_ups = 0, .iterations = 3, .least = 10, .time = kNever});
  EXPECT_EQ(more->size(), 10u);
}

TEST(TimingSampler, WarmUpsEndAtTheirTime) {
  Counted counted;
  ASSERT_TRUE(sample(counted.operation(), {.warm_ups = 50, .iterations = 10, .warm_up_time = 1}));
  EXPECT_EQ(counted.ran, 11u);
}

TEST(TimingSampler, PreparationIsNotTimed) {
  const Operation operation{[]() -> Result<void> {
                              spin(2 * kMillisecond);
                              return {};
                            },
                            []() -> Result<void> { return {}; }};
  const auto samples = sample(operation, {.warm_ups = 1, .iterations = 11, .least_clock_steps = 0});
  ASSERT_TRUE(samples);
  EXPECT_LT(median(*samples), 1000);
  EXPECT_GE(std::ranges::min(*samples), 0);
}

TEST(TimingSampler, PreparationMayBeMissing) {
  const Operation operation{{}, []() -> Result<void> {
                              spin(20 * kMicrosecond);
                              return {};
                            }};
  EXPECT_EQ(sample(operation, {.warm_ups = 2, .iterations = 12})->size(), 12u);
}

TEST(TimingSampler, WhatTheClockCannotResolveIsRefused) {
  const Operation nothing{{}, []() -> Result<void> { return {}; }};
  const auto samples = sample(nothing, {.warm_ups = 1, .iterations = 100});
  ASSERT_FALSE(samples);
  EXPECT_NE(samples.error().message.find("steps of the clock"), std::string::npos);
}

TEST(TimingSampler, AFailureIsAnErrorWhenever) {
  for (const size_t at : {1u, 3u, 30u}) {
    size_t ran = 0;
    const Operation operation{{}, [&]() -> Result<void> {
                                if (++ran == at) return fail("no entropy at {}", at);
                                spin(20 * kMicrosecond);
                                return {};
                              }};
    const auto samples = sample(operation, {.warm_ups = 2, .iterations = 100});
    ASSERT_FALSE(samples) << at;
    EXPECT_EQ(samples.error().message, "no entropy at " + std::to_string(at));
  }
  const Operation unprepared{[]() -> Result<void> { return fail("no key"); },
                             []() -> Result<void> { return {}; }};
  EXPECT_EQ(sample(unprepared, {}).error().message, "no key");
}

TEST(TimingSampler, CancellingKeepsWhatWasMeasured) {
  std::atomic<bool> cancel = false;
  size_t ran = 0;
  const Operation operation{{}, [&]() -> Result<void> {
                              spin(20 * kMicrosecond);
                              if (++ran == 25) cancel = true;
                              return {};
                            }};
  const auto samples = sample(operation, {.warm_ups = 5, .iterations = 1000, .cancel = &cancel});
  ASSERT_TRUE(samples);
  EXPECT_EQ(samples->size(), 20u);
}

TEST(TimingSampler, CancelledTooEarly) {
  std::atomic<bool> cancel = false;
  size_t ran = 0;
  const Operation operation{{}, [&]() -> Result<void> {
                              if (++ran == 8) cancel = true;
                              return {};
                            }};
  const auto during = sample(operation, {.warm_ups = 5, .cancel = &cancel});
  ASSERT_FALSE(during);
  EXPECT_EQ(during.error().code, kCancelledCode);
  EXPECT_EQ(during.error().message, "cancelled after 3 samples");
  const auto before = sample(operation, {.cancel = &cancel});
  ASSERT_FALSE(before);
  EXPECT_EQ(before.error().code, kCancelledCode);
}

TEST(TimingSampler, TheClock) {
  const ClockFacts& clock = clock_facts();
  EXPECT_STREQ(clock.source, "CLOCK_MONOTONIC");
  EXPECT_GT(clock.resolution_ns, 0);
  EXPECT_GE(clock.overhead_ns, 0);
  EXPECT_EQ(&clock, &clock_facts());
}

}  // namespace
}  // namespace pqedge::measure
