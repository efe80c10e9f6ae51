#include "base/counters.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace pqedge::counters {
namespace {

// Run under ThreadSanitizer too: one thread adds while another reads.
TEST(Counters, SumTheSlotsOfAllThreads) {
  const Counter c("test_sum_total", "A test.");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10'000; ++i) c.add();
    });
  }
  uint64_t last = 0;
  for (int i = 0; i < 1'000; ++i) {
    const uint64_t now = c.value();
    EXPECT_GE(now, last);
    last = now;
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(c.value(), 40'000u);  // those of ended threads are kept
}

TEST(Counters, TheSameNameAndLabelsAreOneSeries) {
  const Counter a("test_same_total", "A test.", {{"route", "x"}});
  const Counter b("test_same_total", "A test.", {{"route", "x"}});
  const Counter c("test_same_total", "A test.", {{"route", "y"}});
  a.add(2);
  b.add(3);
  c.add(10);
  EXPECT_EQ(a.value(), 5u);
  EXPECT_EQ(b.value(), 5u);
  EXPECT_EQ(c.value(), 10u);
}

TEST(Counters, GaugesGoDownFromAnyThread) {
  const Counter g("test_gauge", "A test.", {}, Kind::gauge);
  g.add(5);
  std::thread([&] { g.subtract(3); }).join();
  EXPECT_EQ(g.value(), 2u);
}

TEST(Counters, AreListedByNameThenLabels) {
  const Counter b("test_list_total", "Help.", {{"l", "b"}});
  const Counter a("test_list_total", "Help.", {{"l", "a"}});
  b.add(1);
  std::vector<std::string> names;
  std::vector<std::string> labels;
  for_each([&](const Series& s) {
    names.emplace_back(s.name);
    if (s.name == "test_list_total") labels.push_back(s.labels->front().value);
  });
  EXPECT_TRUE(std::ranges::is_sorted(names));
  EXPECT_EQ(labels, (std::vector<std::string>{"a", "b"}));
}

TEST(Counters, ADefaultCounterCountsForNobody) {
  const Counter nobody;
  nobody.add(5);
  bool listed = false;
  for_each([&](const Series& s) { listed = listed || s.name.empty(); });
  EXPECT_FALSE(listed);
}

uint64_t series_value(std::string_view name, std::string_view le) {
  uint64_t value = 0;
  for_each([&](const Series& s) {
    if (s.name != name) return;
    const bool bound = le.empty() || (!s.labels->empty() && s.labels->back().value == le);
    if (bound) value += s.value;
  });
  return value;
}

TEST(Histogram, PutsEachValueIntoOneBucket) {
  const Histogram h("test_seconds", "A test.");
  h.observe_micros(100);  // on the bound: le is inclusive
  h.observe_micros(101);
  h.observe_micros(60'000'001);  // past the last
  EXPECT_EQ(series_value("test_seconds_bucket", "0.0001"), 1u);
  EXPECT_EQ(series_value("test_seconds_bucket", "0.00025"), 1u);
  EXPECT_EQ(series_value("test_seconds_bucket", "+Inf"), 1u);
  EXPECT_EQ(series_value("test_seconds_bucket", ""), 3u);
}

int fill_the_registry() {
  const Counter early("test_cap_early_total", "A test.");
  for (size_t i = 0; i < Counter::kMaxSeries + 100; ++i) {
    const Counter c("test_cap_total", "A test.", {{"i", std::to_string(i)}});
    if (i >= Counter::kMaxSeries) c.add();
  }
  size_t series = 0;
  uint64_t other = 0;
  for_each([&](const Series& s) {
    ++series;
    if (s.name == "pqedge_series_other") other = s.value;
  });
  early.add();
  return series <= Counter::kMaxSeries && other == 100 && early.value() == 1 ? 0 : 1;
}

// K66. In a process of its own, since the registry stays full.
TEST(CountersDeathTest, SeriesBeyondTheCapFallIntoOne) {
  EXPECT_EXIT(std::exit(fill_the_registry()), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace pqedge::counters
