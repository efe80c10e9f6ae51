// A thread that asks things of other servers: requests with bounds, several at a time (libcurl),
// and timers. Who uses it lives on it: what it is asked to run, and all answers, come on this
// thread.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace pqedge::jobs {

struct WebRequest {
  std::string url;  // http or https
  bool post = false;
  std::string content_type;  // of the body that is posted
  std::string accept;        // the type wanted; empty: any
  std::string body;

  Nanos timeout = 10 * kSecond;  // of all, redirects included
  size_t max_answer = 64 * 1024;
  bool local_addresses = false;  // loopback and link-local too
};

struct WebAnswer {
  long status = 0;  // 0: there was no answer, and `error` says why
  std::string body;
  std::string error;
};

class WebThread {
 public:
  using Done = std::function<void(WebAnswer)>;

  static Result<std::unique_ptr<WebThread>> start();
  // Cuts what runs; nothing is called any more.
  ~WebThread();
  WebThread(const WebThread&) = delete;
  WebThread& operator=(const WebThread&) = delete;

  // From any thread: runs `task` on this one.
  void post(std::function<void()> task);

  // ---- on this thread ----
  // Runs `task` once, not before `when` (monotonic).
  void at(Nanos when, std::function<void()> task);
  // Calls `done` once, later. At most eight run at a time, and the rest wait their turn: a timeout
  // counts from the start of the request.
  void fetch(WebRequest request, Done done);

 private:
  struct Transfer;
  WebThread() = default;
  void run();
  void run_tasks();
  void start_waiting();
  void begin(std::unique_ptr<Transfer> transfer);
  void finish(Transfer& transfer, int code);
  void collect();
  int wait_millis();

  void* multi_ = nullptr;  // CURLM
  std::deque<std::unique_ptr<Transfer>> waiting_;
  std::vector<std::unique_ptr<Transfer>> running_;
  std::multimap<Nanos, std::function<void()>> timers_;
  std::mutex mutex_;
  std::vector<std::function<void()>> posted_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace pqedge::jobs
