#include "measure/host/noise.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include "measure/host/throttle.h"
#include "unit/measure/host_fixture.h"

namespace pqedge::measure {
namespace {

// proc_stat(5): user nice system idle iowait irq softirq steal guest guest_nice.
constexpr std::string_view kStat =
    "cpu  67855 37395 34292 110761 995 0 920 50 0 0\n"
    "cpu0 31346 18803 15511 59898 86 0 419 10 0 0\n"
    "cpu1 36509 18592 18781 50863 909 0 501 40 0 0\n"
    "intr 1234 0 0\n";

TEST(HostNoise, TicksOfAllAndOfOneCore) {
  const auto all = cpu_ticks(kStat, "cpu");
  ASSERT_TRUE(all);
  EXPECT_EQ(all->total, 252268u);
  EXPECT_EQ(all->idle, 111756u);
  EXPECT_EQ(all->steal, 50u);
  EXPECT_EQ(all->busy(), 140462u);
  EXPECT_EQ(cpu_ticks(kStat, "cpu1")->steal, 40u);
  EXPECT_FALSE(cpu_ticks(kStat, "cpu2"));
  EXPECT_FALSE(cpu_ticks("", "cpu"));
  EXPECT_FALSE(cpu_ticks("cpu  1 2 3\n", "cpu"));  // of a kernel without steal
  EXPECT_FALSE(cpu_ticks("cpu  1 2 3 4 5 x 7 8\n", "cpu"));
}

TEST(HostNoise, ReferenceWorkIsAlwaysTheSame) {
  // By another implementation: 200,000 steps of the same generator in Python's integers.
  EXPECT_EQ(reference_work(), 0xcfe3967063cbee19u);
  EXPECT_EQ(reference_work(), 0xcfe3967063cbee19u);
}

// One run over two readings of a machine's files, with the figures of this process made up.
struct NoisyRun {
  FixtureHost host{std::map<std::string, std::string>()};
  double own_cpu = 0;
  uint64_t switches = 0;
  Nanos time = 0;
  std::vector<double> reference{400, 400, 400};
  size_t marks = 0;

  NoiseMonitor begin(std::optional<int> core) {
    return NoiseMonitor::begin(core, {.files = host.files(),
                                      .reference = [this] { return reference.at(marks++); },
                                      .own_cpu_seconds = [this] { return own_cpu; },
                                      .own_involuntary_switches = [this] { return switches; },
                                      .now = [this] { return time; },
                                      .started = 0});
  }
};

TEST(HostNoise, NoisyVirtualMachine) {
  NoisyRun run;
  run.host.write("/proc/stat",
                 "cpu  1000 0 500 8000 100 0 0 400\ncpu0 500 0 250 5000 50 0 0 100\n"
                 "cpu1 500 0 250 3000 50 0 0 300\n");
  run.host.write("/proc/loadavg", "3.25 2.10 1.02 3/512 4242\n");
  run.host.write("/proc/cpuinfo", "processor\t: 0\n\nprocessor\t: 1\ncpu MHz\t\t: 2000.000\n\n");
  run.reference = {400, 480, 420};
  NoiseMonitor monitor = run.begin(1);
  run.host.write("/proc/cpuinfo", "processor\t: 0\n\nprocessor\t: 1\ncpu MHz\t\t: 1800.000\n\n");
  monitor.mark();
  // 20 s of two cores: 4,000 ticks, of which 300 were stolen (250 of core 1's 2,000), and 2,700
  // busy; 15 s of those are this process's.
  run.host.write("/proc/stat",
                 "cpu  3500 0 700 8900 200 0 0 700\ncpu0 1500 0 350 5800 100 0 0 150\n"
                 "cpu1 2000 0 350 3100 100 0 0 550\n");
  run.host.write("/proc/loadavg", "4.00 2.50 1.20 5/512 4243\n");
  run.host.write("/proc/cpuinfo", "processor\t: 0\n\nprocessor\t: 1\ncpu MHz\t\t: 1900.000\n\n");
  run.own_cpu = 1500.0 / static_cast<double>(sysconf(_SC_CLK_TCK));
  run.switches = 321;
  const NoiseFacts noise = monitor.end();
  EXPECT_DOUBLE_EQ(noise.steal_percent, 7.5);
  ASSERT_TRUE(noise.core_steal_percent);
  EXPECT_DOUBLE_EQ(*noise.core_steal_percent, 12.5);
  ASSERT_TRUE(noise.others_percent);
  EXPECT_DOUBLE_EQ(*noise.others_percent, 30);
  EXPECT_DOUBLE_EQ(noise.load_before, 3.25);
  EXPECT_DOUBLE_EQ(noise.load_after, 4);
  EXPECT_EQ(noise.load_own, 0);
  EXPECT_DOUBLE_EQ(noise.spread_percent, 20);
  EXPECT_EQ(noise.reference_us, 420);
  ASSERT_TRUE(noise.frequency_change_percent);
  EXPECT_NEAR(*noise.frequency_change_percent, 100.0 * 200 / 1800, 1e-9);
  EXPECT_EQ(noise.involuntary_switches, 321u);
  EXPECT_TRUE(noise.unknown.empty());
  EXPECT_EQ(monitor.mhz_before(), 2000);
  EXPECT_EQ(monitor.mhz_after(), 1900);
}

TEST(HostNoise, StandingStillByAQuota) {
  // A container of cgroups version 2 that sees its own group at the top (cgroups(7)).
  NoisyRun run;
  run.host.write("/proc/self/cgroup", "0::/\n");
  run.host.write("/sys/fs/cgroup/cpu.stat",
                 "usage_usec 99\nnr_periods 10\nnr_throttled 2\nthrottled_usec 500000\n");
  NoiseMonitor monitor = run.begin(std::nullopt);
  run.host.write("/sys/fs/cgroup/cpu.stat",
                 "usage_usec 99\nnr_periods 30\nnr_throttled 9\nthrottled_usec 2500000\n");
  run.time += 8 * kSecond;
  EXPECT_EQ(monitor.end().throttled_percent, 25);
}

TEST(HostNoise, QuotasOfTheGroupsAround) {
  // Version 2 with a slice and a service, and one that has no quota.
  FixtureHost two({{"/proc/self/cgroup", "0::/a.slice/b.service\n"},
                   {"/sys/fs/cgroup/a.slice/b.service/cpu.stat", "throttled_usec 1000000\n"},
                   {"/sys/fs/cgroup/a.slice/cpu.stat", "throttled_usec 2000000\n"},
                   {"/sys/fs/cgroup/cpu.stat", "usage_usec 5\nuser_usec 3\n"}});
  EXPECT_EQ(throttled_seconds(two.files()), 3);
  // Version 1 in a container: the path is the host's, its group is mounted at the top.
  FixtureHost one({{"/proc/self/cgroup",
                    "5:cpuset:/docker/1f\n4:cpu,cpuacct:/docker/1f\n1:name=systemd:/docker/1f\n"},
                   {"/sys/fs/cgroup/cpu/cpu.stat",
                    "nr_periods 4\nnr_throttled 1\nthrottled_time 250000000\n"}});
  EXPECT_EQ(throttled_seconds(one.files()), 0.25);
  FixtureHost none(
      {{"/proc/self/cgroup", "0::/\n"}, {"/sys/fs/cgroup/cpu.stat", "usage_usec 5\n"}});
  EXPECT_FALSE(throttled_seconds(none.files()));
}

TEST(HostNoise, OneDisturbedMarkOfManyIsNoSpread) {
  const auto spread_of = [](std::vector<double> reference) {
    NoisyRun run;
    run.reference = std::move(reference);
    NoiseMonitor monitor = run.begin(std::nullopt);
    for (size_t i = 2; i < run.reference.size(); ++i) monitor.mark();
    return monitor.end().spread_percent;
  };
  std::vector<double> reference(40, 400);
  reference[17] = 600;
  EXPECT_EQ(spread_of(reference), 0);
  for (size_t i = 20; i < 40; ++i) reference[i] = 440;
  EXPECT_DOUBLE_EQ(spread_of(reference), 10);
  EXPECT_DOUBLE_EQ(spread_of({400, 600, 400}), 50);  // of three each counts
}

TEST(HostNoise, QuartilesOfManyMarks) {
  const auto facts_of = [](std::vector<double> reference) {
    NoisyRun run;
    run.reference = std::move(reference);
    NoiseMonitor monitor = run.begin(std::nullopt);
    for (size_t i = 2; i < run.reference.size(); ++i) monitor.mark();
    const NoiseFacts facts = monitor.end();
    EXPECT_EQ(monitor.references().size(), run.reference.size());
    return facts;
  };
  std::vector<double> reference(40, 400);
  for (size_t i = 0; i < 6; ++i) reference[i] = 600;
  EXPECT_EQ(facts_of(reference).quartile_spread_percent, 0);
  EXPECT_DOUBLE_EQ(facts_of(reference).spread_percent, 50);
  for (size_t i = 6; i < 20; ++i) reference[i] = 440;
  EXPECT_DOUBLE_EQ(*facts_of(reference).quartile_spread_percent, 10);
  EXPECT_FALSE(facts_of({400, 600, 400}).quartile_spread_percent);
}

TEST(HostNoise, EarlierRunsOfTheSameProcessLeaveLoad) {
  NoisyRun run;
  run.host.write("/proc/loadavg", "1.90 1.0 1.0 1/1 1\n");
  run.time = 60 * kSecond;
  run.own_cpu = 60;
  run.begin(std::nullopt).end();
  // After one time constant a thread that always runs has 1 - 1/e of an average of 1.
  run.marks = 0;
  EXPECT_NEAR(run.begin(std::nullopt).end().load_own, 0.6321, 0.0001);
  run.host.write("/proc/loadavg", "0.30 1.0 1.0 1/1 1\n");
  run.marks = 0;
  EXPECT_DOUBLE_EQ(run.begin(std::nullopt).end().load_own, 0.3);  // never more than there is
}

TEST(HostNoise, WhatCannotBeReadIsNamed) {
  NoisyRun run;
  NoiseMonitor monitor = run.begin(0);
  const NoiseFacts noise = monitor.end();
  EXPECT_EQ(noise.unknown,
            (std::vector<std::string>{"steal_percent", "load_before", "load_after"}));
  EXPECT_FALSE(noise.core_steal_percent);
  EXPECT_FALSE(noise.others_percent);
  EXPECT_FALSE(noise.frequency_change_percent);
  EXPECT_FALSE(monitor.mhz_before());
  EXPECT_EQ(noise.spread_percent, 0);
}

TEST(HostNoise, OnThisMachine) {
  NoiseMonitor monitor = NoiseMonitor::begin(std::nullopt);
  // Until the kernel's clock ticks, no share of its time can be told.
  const auto first = cpu_ticks(HostFiles().text("/proc/stat").value_or(""), "cpu");
  ASSERT_TRUE(first);
  while (cpu_ticks(HostFiles().text("/proc/stat").value_or(""), "cpu")->total <= first->total) {
    usleep(1000);
  }
  const NoiseFacts noise = monitor.end();
  EXPECT_TRUE(noise.unknown.empty());
  EXPECT_TRUE(noise.others_percent);
  EXPECT_GT(noise.reference_us.value_or(0), 0);
  EXPECT_GE(noise.spread_percent, 0);
}

}  // namespace
}  // namespace pqedge::measure
