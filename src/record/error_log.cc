#include "record/error_log.h"

#include <unistd.h>

#include <memory>
#include <mutex>

#include "base/counters.h"
#include "base/log.h"
#include "base/text.h"
#include "record/log_thread.h"
#include "record/timestamp.h"

namespace pqedge::record {
namespace {

const counters::Counter g_error_lines_dropped(
    "pqedge_error_log_dropped_total", "Error log messages lost because the writer was behind.");

constexpr size_t kMostQueued = 1024 * 1024;  // bytes

// One line each, also where a message has several: nothing can look like the start of another
// message, and no control byte comes through.
void append_message(std::string& out, log::Level level, std::string_view component,
                    std::string_view message) {
  const size_t begin = out.size();
  append_timestamp(out, wall_now());
  out += ' ';
  out += log::name(level);
  out += ' ';
  out += component;
  out += ": ";
  const std::string prefix = out.substr(begin);
  while (true) {
    const std::string_view line = message.substr(0, message.find('\n'));
    for (const char c : line) {
      const auto u = static_cast<uint8_t>(c);
      if (u < 0x20 || u == 0x7f) {
        append_text_escaped(out, {&c, 1});
      } else {
        out += c;
      }
    }
    out += '\n';
    if (line.size() == message.size()) return;
    message.remove_prefix(line.size() + 1);
    out += prefix;
  }
}

void to_standard_error(std::string_view what) {
  std::string line;
  append_message(line, log::Level::error, "error log", what);
  [[maybe_unused]] const ssize_t n = ::write(STDERR_FILENO, line.data(), line.size());
}

class ErrorLog {
 public:
  // Never destroyed: threads may speak until the very end of the process.
  static ErrorLog& get() {
    static auto* log = new ErrorLog;
    return *log;
  }

  Result<void> install(const LogSettings& settings) {
    auto file = LogFile::open(settings.error_file);
    if (!file) return std::unexpected(file.error());
    const std::lock_guard lock(thread_mutex_);
    if (thread_ != nullptr) {
      thread_->replace(std::move(*file));
    } else {
      auto thread = LogThread::start(
          "error", std::move(*file), [this](std::string& out) { return drain(out); },
          &to_standard_error);
      if (!thread) return std::unexpected(thread.error());
      thread_ = std::move(*thread);
      announce_to_.store(thread_.get());
    }
    log::set_level(settings.level);
    log::set_sink([](log::Level level, std::string_view component, std::string_view message) {
      get().push(level, component, message);
    });
    return {};
  }

  void reopen() {
    const std::lock_guard lock(thread_mutex_);
    if (thread_ != nullptr) thread_->reopen();
  }

  void close() {
    log::set_sink(nullptr);
    const std::lock_guard lock(thread_mutex_);
    {
      const std::lock_guard queue_lock(queue_mutex_);
      announce_to_.store(nullptr);
    }
    thread_.reset();
  }

 private:
  void push(log::Level level, std::string_view component, std::string_view message) {
    const std::lock_guard lock(queue_mutex_);
    if (queue_.size() >= kMostQueued) {
      g_error_lines_dropped.add();
      return;
    }
    append_message(queue_, level, component, message);
    // Under the lock, so that close() cannot take the thread away in between.
    if (LogThread* thread = announce_to_.load()) thread->announce();
  }

  bool drain(std::string& out) {
    const std::lock_guard lock(queue_mutex_);
    if (queue_.empty()) return false;
    out += queue_;
    queue_.clear();
    return true;
  }

  std::mutex thread_mutex_;
  std::unique_ptr<LogThread> thread_;
  std::mutex queue_mutex_;
  std::string queue_;  // finished lines
  std::atomic<LogThread*> announce_to_{nullptr};
};

// What is queued when the process ends in good order is written.
struct CloseAtExit {
  ~CloseAtExit() { close_error_log(); }
};

}  // namespace

Result<void> install_error_log(const LogSettings& settings) {
  ErrorLog& log = ErrorLog::get();
  static const CloseAtExit at_exit;
  return log.install(settings);
}

void reopen_error_log() { ErrorLog::get().reopen(); }

void close_error_log() { ErrorLog::get().close(); }

}  // namespace pqedge::record
