#include "base/log.h"

#include <unistd.h>

#include <atomic>
#include <string>

namespace pqedge::log {
namespace {

void to_stderr(Level level, std::string_view component, std::string_view message) {
  const std::string line = std::format("{}: {}: {}\n", name(level), component, message);
  // One write a line, so that lines of several threads do not mix. Nothing can be done on failure.
  [[maybe_unused]] const ssize_t n = ::write(STDERR_FILENO, line.data(), line.size());
}

std::atomic<Sink> current_sink{&to_stderr};
std::atomic<Level> least_level{Level::info};

}  // namespace

void set_sink(Sink sink) { current_sink.store(sink != nullptr ? sink : &to_stderr); }
void set_level(Level least) { least_level.store(least, std::memory_order_relaxed); }
bool enabled(Level level) { return level >= least_level.load(std::memory_order_relaxed); }

void write(Level level, std::string_view component, std::string_view message) {
  if (enabled(level)) current_sink.load(std::memory_order_relaxed)(level, component, message);
}

std::string_view name(Level level) {
  switch (level) {
    case Level::debug: return "debug";
    case Level::info: return "info";
    case Level::warning: return "warning";
    case Level::error: return "error";
  }
  return "?";
}

}  // namespace pqedge::log
