#include "measure/load/cpu_time.h"

#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <format>
#include <fstream>
#include <sstream>

namespace pqedge::measure::load {

namespace {

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

// Time on a core, of all live threads, in seconds: the first number of schedstat.
double run_time(pid_t process) {
  double sum = 0;
  std::error_code error;
  for (const auto& task :
       std::filesystem::directory_iterator(std::format("/proc/{}/task", process), error)) {
    double nanoseconds = 0;
    std::ifstream(task.path() / "schedstat") >> nanoseconds;
    sum += nanoseconds / 1e9;
  }
  return sum;
}

// utime and stime of /proc/PID/stat, fields 14 and 15; the name in field 2 may hold anything.
CpuTime tick_time(pid_t process) {
  std::ifstream file(std::format("/proc/{}/stat", process));
  std::string line;
  std::getline(file, line);
  const size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream fields(line.substr(name_end + 1));
  std::string skipped;
  for (int field = 3; field < 14; ++field) fields >> skipped;
  CpuTime time;
  fields >> time.user >> time.system;
  const double ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  return {time.user / ticks, time.system / ticks};
}

}  // namespace

CpuTime own_cpu_time() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return {seconds(usage.ru_utime), seconds(usage.ru_stime)};
}

CpuTime cpu_time(const std::vector<pid_t>& processes) {
  CpuTime sum;
  for (const pid_t process : processes) {
    const CpuTime ticks = tick_time(process);
    const double exact = run_time(process);
    const double scale = ticks.total() > 0 && exact > 0 ? exact / ticks.total() : 1;
    sum.user += ticks.user * scale;
    sum.system += ticks.system * scale;
  }
  return sum;
}

std::map<int, CoreTime> core_times() {
  std::map<int, CoreTime> cores;
  std::ifstream file("/proc/stat");
  const double ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("cpu") || line.size() < 5 || line[3] == ' ') continue;
    std::istringstream fields(line.substr(3));
    int core = 0;
    std::array<double, 8> t{};  // user nice system idle iowait irq softirq steal
    fields >> core;
    for (double& value : t) fields >> value;
    cores[core] = {(t[0] + t[1] + t[2] + t[5] + t[6]) / ticks, (t[3] + t[4]) / ticks, t[7] / ticks};
  }
  return cores;
}

}  // namespace pqedge::measure::load
