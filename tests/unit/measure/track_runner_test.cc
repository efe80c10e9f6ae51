// The runner over operations that are no cryptography: what is called, kept and told.
#include <gtest/gtest.h>

#include <atomic>
#include <string>

#include "measure/host/pin.h"
#include "measure/track/runner.h"
#include "measure/track/throughput.h"
#include "measure/track/view.h"

namespace pqedge::measure {
namespace {

// Enough work to be far above the clock's step.
Result<void> spin() {
  volatile unsigned sum = 0;
  for (unsigned i = 0; i < 20'000; ++i) sum = sum + i;
  return {};
}

struct Fake {
  int exchanges = 0, checks = 0, described = 0;
  Work work;

  Fake() {
    for (const PhasePlan& plan : kKemPhases) {
      work.phases.push_back({.plan = plan, .operation = {.run = spin}});
    }
    work.composed = true;
    work.new_exchange = [this]() -> Result<Operation> {
      return Operation{.prepare = [this]() -> Result<void> {
                         ++checks;
                         return {};
                       },
                       .run =
                           [this] {
                             ++exchanges;
                             return spin();
                           }};
    };
    work.describe = [this](SuiteRecord& record) -> Result<void> {
      ++described;
      record.wire_bytes = {1, 2};
      return {};
    };
  }
};

SuiteRun short_run() { return {.limits = {.warm_ups = 2, .iterations = 30}}; }

TEST(Runner, MeasuresPhasesAndTheWholeExchange) {
  Fake fake;
  SuiteRun run = short_run();
  std::string begun;
  int ended = 0;
  run.begins = [&](std::string_view name) { begun += std::string(name) + ';'; };
  run.ended = [&] { ++ended; };
  run.keep_samples = true;
  const auto measured = measure_suite(fake.work, {.name = "fake", .provider = "none"}, run);
  ASSERT_TRUE(measured.has_value()) << measured.error().message;
  EXPECT_EQ(begun, "KEM keygen;KEM encapsulate;KEM decapsulate;end to end;");
  EXPECT_EQ(ended, 4);
  const SuiteRecord& record = measured->record;
  EXPECT_EQ(record.name, "fake");
  ASSERT_EQ(record.phases.size(), 3u);
  double sum = 0;
  for (const PhaseRecord& phase : record.phases) {
    EXPECT_EQ(phase.figures.iterations, 30u);
    EXPECT_EQ(phase.samples_us.size(), 30u);
    sum += phase.weight * phase.figures.mean_us;
  }
  ASSERT_TRUE(record.composed && record.client && record.server && record.end_to_end);
  EXPECT_NEAR(record.composed->mean_us / sum, 1, 2e-5);
  EXPECT_EQ(measured->composed_us.size(), 30u);
  EXPECT_NEAR(*record.end_to_end_ratio * record.composed->median_us, record.end_to_end->median_us,
              1e-9);
  EXPECT_EQ(fake.exchanges, 32);
  EXPECT_EQ(fake.checks, 33);  // one before each, and one for the last
  EXPECT_EQ(fake.described, 1);
  EXPECT_EQ(record.wire_bytes.total(), 3u);
  EXPECT_FALSE(measured->cancelled);
}

TEST(Runner, AFailureNamesPhaseSuiteAndLibrary) {
  Fake fake;
  fake.work.phases[1].operation.run = []() -> Result<void> { return fail("out of entropy"); };
  const auto measured = measure_suite(fake.work, {.name = "fake", .provider = "lib"}, short_run());
  ASSERT_FALSE(measured.has_value());
  EXPECT_EQ(measured.error().message, "KEM encapsulate of fake by lib: out of entropy");
}

TEST(Runner, AMismatchAtTheEndIsAFailure) {
  Fake fake;
  fake.work.new_exchange = []() -> Result<Operation> {
    auto runs = std::make_shared<int>(0);
    return Operation{.prepare = [runs]() -> Result<void> {
                       if (*runs == 32) return fail("two secrets");
                       return {};
                     },
                     .run =
                         [runs] {
                           ++*runs;
                           return spin();
                         }};
  };
  EXPECT_FALSE(measure_suite(fake.work, {.name = "fake"}, short_run()).has_value());
}

// Cancelled in the second phase: what was done stays, nothing is composed of half an exchange.
TEST(Runner, CancelledKeepsThePhasesDone) {
  Fake fake;
  std::atomic<bool> cancel = false;
  int runs = 0;
  fake.work.phases[1].operation.run = [&] {
    if (++runs == 4) cancel = true;
    return spin();
  };
  SuiteRun run = short_run();
  run.limits.cancel = &cancel;
  const auto measured = measure_suite(fake.work, {.name = "fake"}, run);
  ASSERT_TRUE(measured.has_value());
  EXPECT_TRUE(measured->cancelled);
  ASSERT_EQ(measured->record.phases.size(), 1u);
  EXPECT_EQ(measured->record.phases[0].name, "KEM keygen");
  EXPECT_FALSE(measured->record.composed.has_value());
  EXPECT_EQ(fake.exchanges, 0);
}

TEST(Throughput, CountsEveryThread) {
  std::atomic<int> runs = 0;
  const Operation operation{.run = [&] {
    ++runs;
    return spin();
  }};
  const std::vector<Operation> exchanges(3, operation);
  const auto cores = allowed_cores();
  ASSERT_TRUE(cores.has_value());
  const auto result = throughput(exchanges, *cores, 5 * kMillisecond, nullptr);
  ASSERT_TRUE(result.has_value()) << result.error().message;
  EXPECT_EQ(result->threads, 3u);
  EXPECT_GT(result->per_second, 0);
  EXPECT_DOUBLE_EQ(result->per_second_per_thread * 3, result->per_second);
  EXPECT_GE(runs.load(), 6);  // a warm-up and at least one each
  // The calling thread keeps its cores.
  EXPECT_EQ(*allowed_cores(), *cores);
}

TEST(Throughput, AFailingThreadIsTold) {
  const std::vector<Operation> exchanges{
      {.run = spin}, {.run = []() -> Result<void> { return fail("no more keys"); }}};
  const auto result = throughput(exchanges, *allowed_cores(), kMillisecond, nullptr);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().message, "no more keys");
}

// ---- the table for a terminal -----------------------------------------------------------------

Summary figures(double us) {
  return {.iterations = 1000,
          .mean_us = us,
          .median_us = us,
          .p95_us = us,
          .p99_us = us,
          .min_us = us,
          .max_us = us,
          .tail = 1,
          .ops_per_second = 1e6 / us};
}

TEST(View, FitsTheTerminal) {
  TrackRecord tls{.name = "tls", .title = "TLS 1.3 key exchange"};
  for (const KexSuite& suite : kex_suites(Track::tls)) {
    SuiteRecord s{.name = std::string(suite.name),
                  .provider = "OpenSSL",
                  .provider_version = "3.5.9",
                  .code = "portable C",
                  .baseline = suite.baseline};
    s.phases = {{.name = "KEM keygen", .figures = figures(30)}};
    s.composed = s.client = s.server = figures(123456.7);
    s.end_to_end_ratio = 1.04;
    s.wire_bytes = {1216, 1120};
    if (!suite.baseline) s.against_baseline = Ratio{2.279, {2.2, 2.3}};
    tls.suites.push_back(s);
  }
  tls.suites[1].withheld = Withheld{"KEM keygen: the second half's median is 20 % above the first"};
  tls.suites.push_back({.name = "absent-one", .absent = "no library here offers it"});
  for (unsigned threads = 1; threads <= 8; ++threads) {
    tls.throughput.push_back({"X25519MLKEM768", "OpenSSL", threads, 12345.6, 12345.6});
  }
  for (const unsigned columns : {80u, 120u}) {
    const std::string text = tracks_view(tls, columns);
    size_t begin = 0;
    for (size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
      size_t width = 0;
      for (size_t i = begin; i < end; ++i) width += (static_cast<uint8_t>(text[i]) & 0xc0) != 0x80;
      EXPECT_LE(width, columns) << text.substr(begin, end - begin);
    }
    for (const char* word : {"X25519MLKEM768", "2,336 B", "baseline", "+127.9 %", "absent-one",
                             "not to be compared", "1 thread", "8 threads", "12,346"}) {
      EXPECT_NE(text.find(word), std::string::npos) << word << " at " << columns;
    }
    EXPECT_EQ(text.find("end to end") != std::string::npos, columns >= 120);
  }
}

TEST(View, Wraps) {
  EXPECT_EQ(wrapped("one two three", 9, 2), "  one two\n  three\n");
  EXPECT_EQ(wrapped("", 9, 2), "");
}

}  // namespace
}  // namespace pqedge::measure
