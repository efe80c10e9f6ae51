#include "record/process_metrics.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <mutex>
#include <optional>

#include "base/text.h"
#include "base/time.h"
#include "base/version.h"
#include "net/socket.h"
#include "record/metrics.h"

namespace pqedge::record {
namespace {

std::mutex info_mutex;
ProcessInfo info;

ProcessInfo current_info() {
  const std::lock_guard lock(info_mutex);
  return info;
}

std::string read_all(const char* path) {
  const net::Fd fd(::open(path, O_RDONLY | O_CLOEXEC));
  std::string text;
  char buffer[16384];
  ssize_t n = 0;
  while (fd && (n = ::read(fd.get(), buffer, sizeof buffer)) > 0) {
    text.append(buffer, static_cast<size_t>(n));
  }
  return text;
}

// Takes the next run of non-space characters off the front.
std::string_view next_word(std::string_view& text) {
  const size_t begin = text.find_first_not_of(" \t\n");
  if (begin == std::string_view::npos) return text = {};
  text.remove_prefix(begin);
  const size_t end = std::min(text.find_first_of(" \t\n"), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end);
  return word;
}

std::string_view nth_word(std::string_view text, int n) {
  std::string_view word;
  for (int i = 0; i <= n; ++i) word = next_word(text);
  return word;
}

std::optional<double> open_descriptors() {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir("/proc/self/fd"), &::closedir);
  if (directory == nullptr) return std::nullopt;
  int count = -1;  // the directory's own
  while (const dirent* entry = ::readdir(directory.get())) {
    if (entry->d_name[0] != '.') ++count;
  }
  return count;
}

// Seconds since the epoch: the boot's time and the ticks from then on.
std::optional<double> start_time() {
  const std::string stat = read_all("/proc/self/stat");
  const size_t name_end = stat.rfind(')');  // the name may hold anything
  const std::string boot = read_all("/proc/stat");
  const size_t at = boot.find("\nbtime ");
  if (name_end == std::string::npos || at == std::string::npos) return std::nullopt;
  // Field 22; the state, field 3, is the first after the name.
  const auto ticks = parse_decimal(nth_word(std::string_view(stat).substr(name_end + 1), 19));
  const auto btime = parse_decimal(nth_word(std::string_view(boot).substr(at), 1));
  if (!ticks || !btime) return std::nullopt;
  return static_cast<double>(*btime) +
         static_cast<double>(*ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

double seconds(const timeval& t) {
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
}

void add_memory(std::vector<ProcessSeries>& out) {
  const std::string statm = read_all("/proc/self/statm");
  const auto page = static_cast<double>(::sysconf(_SC_PAGESIZE));
  const auto size = parse_decimal(nth_word(statm, 0));
  const auto resident = parse_decimal(nth_word(statm, 1));
  if (size) {
    out.push_back({.name = "process_virtual_memory_bytes",
                   .help = "Virtual memory size in bytes.",
                   .value = static_cast<double>(*size) * page});
  }
  if (resident) {
    out.push_back({.name = "process_resident_memory_bytes",
                   .help = "Resident memory size in bytes.",
                   .value = static_cast<double>(*resident) * page});
  }
}

void add_descriptors(std::vector<ProcessSeries>& out) {
  if (const auto open = open_descriptors()) {
    out.push_back(
        {.name = "process_open_fds", .help = "Number of open file descriptors.", .value = *open});
  }
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    out.push_back({.name = "process_max_fds",
                   .help = "Maximum number of open file descriptors.",
                   .value = static_cast<double>(limit.rlim_cur)});
  }
}

void add_times(std::vector<ProcessSeries>& out) {
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) == 0) {
    out.push_back({.name = "process_cpu_seconds_total",
                   .help = "User and system CPU time spent in seconds.",
                   .kind = counters::Kind::counter,
                   .value = seconds(usage.ru_utime) + seconds(usage.ru_stime)});
  }
  static const std::optional<double> started = start_time();
  if (started) {
    out.push_back({.name = "process_start_time_seconds",
                   .help = "Start time of the process since the Unix epoch in seconds.",
                   .value = *started});
  }
}

void add_udp_drops(std::vector<ProcessSeries>& out, const std::vector<uint16_t>& ports) {
  if (ports.empty()) return;
  const std::string v4 = read_all("/proc/net/udp");
  const std::string v6 = read_all("/proc/net/udp6");
  for (const uint16_t port : ports) {
    out.push_back({.name = "pqedge_udp_socket_drops_total",
                   .help = "Datagrams the kernel dropped at UDP sockets of a port.",
                   .kind = counters::Kind::counter,
                   .labels = {{"port", std::to_string(port)}},
                   .value = static_cast<double>(udp_drops(v4, port) + udp_drops(v6, port))});
  }
}

}  // namespace

void set_process_info(ProcessInfo fresh) {
  const std::lock_guard lock(info_mutex);
  info = std::move(fresh);
}

uint64_t udp_drops(std::string_view proc_net_udp, uint16_t port) {
  uint64_t sum = 0;
  while (!proc_net_udp.empty()) {
    const std::string_view line = proc_net_udp.substr(0, proc_net_udp.find('\n'));
    proc_net_udp.remove_prefix(std::min(line.size() + 1, proc_net_udp.size()));
    // "  sl  local_address rem_address st ... drops": the address is hexadecimal, IP:PORT.
    const std::string_view local = nth_word(line, 1);
    const size_t colon = local.rfind(':');
    if (colon == std::string_view::npos) continue;
    uint16_t bound = 0;
    const std::string_view hex = local.substr(colon + 1);
    if (std::from_chars(hex.data(), hex.data() + hex.size(), bound, 16).ec != std::errc{} ||
        bound != port) {
      continue;
    }
    const size_t last = line.find_last_of(" \t", line.find_last_not_of(" \t"));
    if (last == std::string_view::npos) continue;
    std::string_view rest = line.substr(last);
    sum += parse_decimal(next_word(rest)).value_or(0);
  }
  return sum;
}

std::vector<ProcessSeries> process_series() {
  const ProcessInfo known = current_info();
  std::vector<ProcessSeries> out;
  out.push_back({.name = "pqedge_build_info",
                 .help = "1, with the version as a label.",
                 .labels = {{"version", std::string(version())}},
                 .value = 1});
  out.push_back({.name = "pqedge_workers",
                 .help = "Worker threads.",
                 .value = static_cast<double>(known.workers)});
  add_udp_drops(out, known.udp_ports);
  add_times(out);
  add_memory(out);
  add_descriptors(out);
  return out;
}

}  // namespace pqedge::record
