#include "measure/host/noise.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "measure/host/facts.h"
#include "measure/host/throttle.h"
#include "measure/stats/summary.h"

namespace pqedge::measure {

namespace {

// When the program was loaded, near enough.
const Nanos kLoaded = monotonic_now();

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

double cpu_seconds_of_this_process() {
  double sum = 0;
  for (const auto who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    getrusage(who, &usage);
    sum += seconds(usage.ru_utime) + seconds(usage.ru_stime);
  }
  return sum;
}

uint64_t involuntary_switches_of_this_process() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_nivcsw);
}

std::string_view take_word(std::string_view& text) {
  const size_t begin = std::min(text.find_first_not_of(' '), text.size());
  text.remove_prefix(begin);
  const size_t end = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end);
  return word;
}

double percent_of(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

// How far the highest lies above the lowest, in percent of the lowest. Of many marks the outermost
// twentieth at each end is left out: one disturbed mark among a hundred says little.
constexpr size_t kLeastForQuartiles = 8;

// From the percentile `outer` to the one as far from the other end.
double spread(std::vector<double> values, double outer = 5) {
  std::ranges::sort(values);
  const double low = percentile(values, outer);
  return percent_of(percentile(values, 100 - outer) - low, low);
}

std::optional<double> steal_between(const std::optional<CpuTicks>& a,
                                    const std::optional<CpuTicks>& b) {
  if (!a || !b || b->total <= a->total || b->steal < a->steal) return std::nullopt;
  return percent_of(static_cast<double>(b->steal - a->steal),
                    static_cast<double>(b->total - a->total));
}

}  // namespace

std::optional<CpuTicks> cpu_ticks(std::string_view proc_stat, std::string_view name) {
  while (!proc_stat.empty()) {
    const size_t end = std::min(proc_stat.find('\n'), proc_stat.size());
    std::string_view line = proc_stat.substr(0, end);
    proc_stat.remove_prefix(std::min(end + 1, proc_stat.size()));
    if (take_word(line) != name) continue;
    // user nice system idle iowait irq softirq steal; a kernel before 2.6.11 had no steal.
    std::array<uint64_t, 8> ticks{};
    for (uint64_t& value : ticks) {
      const std::string_view word = take_word(line);
      const auto [rest, error] = std::from_chars(word.data(), word.data() + word.size(), value);
      if (error != std::errc() || rest != word.data() + word.size()) return std::nullopt;
    }
    CpuTicks sum;
    for (const uint64_t value : ticks) sum.total += value;
    sum.idle = ticks[3] + ticks[4];
    sum.steal = ticks[7];
    return sum;
  }
  return std::nullopt;
}

uint64_t reference_work() {
  uint64_t x = 0x9e3779b97f4a7c15;
  __asm__ volatile("" : "+r"(x));  // the compiler must not know the result, nor that it is constant
  for (int i = 0; i < 200'000; ++i) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    x ^= x >> 29;
  }
  __asm__ volatile("" : "+r"(x));
  return x;
}

double time_reference_work() {
  std::array<double, 25> times_us{};
  for (double& time : times_us) {
    const Nanos before = monotonic_now();
    reference_work();
    time = static_cast<double>(monotonic_now() - before) / 1000;
  }
  return median(times_us);
}

NoiseMonitor::NoiseMonitor(std::optional<int> core, Sources sources)
    : core_(core), sources_(std::move(sources)) {
  if (!sources_.own_cpu_seconds) sources_.own_cpu_seconds = cpu_seconds_of_this_process;
  if (!sources_.own_involuntary_switches) {
    sources_.own_involuntary_switches = involuntary_switches_of_this_process;
  }
  if (!sources_.started) sources_.started = kLoaded;
}

NoiseMonitor NoiseMonitor::begin(std::optional<int> core) { return begin(core, Sources()); }

NoiseMonitor NoiseMonitor::begin(std::optional<int> core, Sources sources) {
  NoiseMonitor monitor(core, std::move(sources));
  monitor.load_before_ = monitor.load();
  monitor.load_own_ = monitor.own_part_of_load();
  monitor.mark();
  monitor.first_ = monitor.read();
  return monitor;
}

// The kernel's one-minute average forgets with a time constant of a minute. A process that used
// c of its e seconds has left c / e of what e seconds of one running thread leave.
double NoiseMonitor::own_part_of_load() const {
  const double lived = static_cast<double>(sources_.now() - *sources_.started) / 1e9;
  if (lived <= 0) return 0;
  const double threads = sources_.own_cpu_seconds() / lived;
  return std::min(load_before_.value_or(0), threads * (1 - std::exp(-lived / 60)));
}

std::optional<double> NoiseMonitor::load() const { return sources_.files.number("/proc/loadavg"); }

NoiseMonitor::Counters NoiseMonitor::read() const {
  Counters counters;
  const std::string stat = sources_.files.text("/proc/stat").value_or("");
  counters.all = cpu_ticks(stat, "cpu");
  if (core_) counters.core = cpu_ticks(stat, "cpu" + std::to_string(*core_));
  counters.own_cpu_seconds = sources_.own_cpu_seconds();
  counters.involuntary_switches = sources_.own_involuntary_switches();
  counters.throttled_seconds = throttled_seconds(sources_.files);
  counters.at = sources_.now();
  return counters;
}

void NoiseMonitor::mark() {
  reference_us_.push_back(sources_.reference());
  // Right after the work: a core that was asleep has its frequency by now.
  if (const auto mhz = core_mhz(sources_.files, core_.value_or(0))) mhz_.push_back(*mhz);
}

std::optional<double> NoiseMonitor::others_percent(const Counters& last) const {
  if (!first_.all || !last.all || last.all->total <= first_.all->total) return std::nullopt;
  const double ticks_a_second = static_cast<double>(sysconf(_SC_CLK_TCK));
  const double all = static_cast<double>(last.all->total - first_.all->total);
  const double busy =
      static_cast<double>(last.all->busy()) - static_cast<double>(first_.all->busy());
  const double own = (last.own_cpu_seconds - first_.own_cpu_seconds) * ticks_a_second;
  return percent_of(std::max(0.0, busy - own), all);
}

std::optional<double> NoiseMonitor::throttled_percent(const Counters& last) const {
  if (!first_.throttled_seconds || !last.throttled_seconds) return std::nullopt;
  const double stood = *last.throttled_seconds - *first_.throttled_seconds;
  return percent_of(std::max(0.0, stood), static_cast<double>(last.at - first_.at) / 1e9);
}

NoiseFacts NoiseMonitor::end() {
  const Counters last = read();
  mark();
  NoiseFacts noise;
  const auto told = [&](std::string_view name, std::optional<double> value) {
    if (!value) noise.unknown.emplace_back(name);
    return value.value_or(0);
  };
  noise.steal_percent = told("steal_percent", steal_between(first_.all, last.all));
  noise.core_steal_percent = steal_between(first_.core, last.core);
  noise.load_before = told("load_before", load_before_);
  noise.load_after = told("load_after", load());
  noise.load_own = load_own_;
  noise.reference_us = median(reference_us_);
  noise.spread_percent = spread(reference_us_);
  if (reference_us_.size() >= kLeastForQuartiles) {
    noise.quartile_spread_percent = spread(reference_us_, 25);
  }
  if (mhz_.size() > 1) noise.frequency_change_percent = spread(mhz_);
  noise.involuntary_switches = last.involuntary_switches - first_.involuntary_switches;
  noise.others_percent = others_percent(last);
  noise.throttled_percent = throttled_percent(last);
  return noise;
}

std::optional<double> NoiseMonitor::mhz_before() const {
  return mhz_.empty() ? std::nullopt : std::optional(mhz_.front());
}

std::optional<double> NoiseMonitor::mhz_after() const {
  return mhz_.empty() ? std::nullopt : std::optional(mhz_.back());
}

}  // namespace pqedge::measure
