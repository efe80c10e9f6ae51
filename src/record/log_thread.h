// The thread behind a log: sleeps until there is something to write, takes it in batches, and bears
// with files that cannot be written.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "base/counters.h"
#include "base/result.h"
#include "base/time.h"
#include "net/socket.h"
#include "record/log_file.h"

namespace pqedge::record {

class LogThread {
 public:
  // Appends finished lines to the text, a bounded number; false when there was nothing. Called on
  // the thread.
  using Drain = std::function<bool(std::string&)>;
  // Told of a write that failed, at most once a minute. Called on the thread.
  using Complain = std::function<void(std::string_view)>;

  // `name` is the value of the label `log` of pqedge_log_write_errors_total.
  static Result<std::unique_ptr<LogThread>> start(std::string_view name, LogFile file, Drain drain,
                                                  Complain complain);
  // Writes what is queued, as far as the file takes it, for at most two seconds.
  ~LogThread();
  LogThread(const LogThread&) = delete;
  LogThread& operator=(const LogThread&) = delete;

  // After something was queued: wakes the thread if it sleeps. The queue's own store must be
  // sequentially consistent or behind a lock. Cheap while the thread is awake: it looks again by
  // itself within kBatchDelay.
  void announce() {
    if (asleep_.load(std::memory_order_seq_cst)) wake();
  }
  // The queue is filling up: do not wait for the batch to grow.
  void hurry() {
    if (!hurried_.exchange(true, std::memory_order_relaxed)) wake();
  }
  void reopen();
  void replace(LogFile file);  // once what is queued was written to the old one

  static constexpr Nanos kBatchDelay = 20 * kMillisecond;

 private:
  LogThread(std::string_view name, LogFile file, Drain drain, Complain complain);
  void run();
  LogFile::Status write_batch();
  void follow_orders();
  void drop_rest_of_line();
  void wait(int millis, bool for_file);
  void wake();

  LogFile file_;
  Drain drain_;
  Complain complain_;
  counters::Counter errors_;
  net::Fd event_;
  std::string text_;  // formatted and not yet written
  Nanos last_complaint_ = 0;

  alignas(64) std::atomic<bool> asleep_{false};
  std::atomic<bool> hurried_{false};
  std::atomic<bool> stop_{false};

  std::mutex orders_mutex_;
  bool reopen_ordered_ = false;
  std::unique_ptr<LogFile> replacement_;
  std::thread thread_;
};

}  // namespace pqedge::record
