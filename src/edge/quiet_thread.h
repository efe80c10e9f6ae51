// A thread of low priority for work that takes long and can wait: what a reload reads and compiles.
// Where CPUs are few, requests go first.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace pqedge::edge {

class QuietThread {
 public:
  QuietThread();
  ~QuietThread();
  QuietThread(const QuietThread&) = delete;
  QuietThread& operator=(const QuietThread&) = delete;

  // Runs it there, and returns when it is done. One caller at a time.
  void run(std::function<void()> task);

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> task_;  // empty: none
  bool end_ = false;
  std::thread thread_;  // the last: it uses the rest
};

}  // namespace pqedge::edge
