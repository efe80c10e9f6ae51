#include "edge/quiet_thread.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <utility>

namespace pqedge::edge {
namespace {

// A tenth of the share of others on a CPU that has no time to spare.
constexpr int kNice = 10;

}  // namespace

QuietThread::QuietThread() : thread_([this] { work(); }) {}

QuietThread::~QuietThread() {
  {
    const std::lock_guard lock(mutex_);
    end_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void QuietThread::run(std::function<void()> task) {
  std::unique_lock lock(mutex_);
  task_ = std::move(task);
  changed_.notify_all();
  changed_.wait(lock, [this] { return !task_; });
}

void QuietThread::work() {
  pthread_setname_np(pthread_self(), "reload");
  // On Linux this is of the thread alone (setpriority(2)); it works as well at the usual priority.
  [[maybe_unused]] const int set = setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kNice);
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return end_ || task_; });
    if (end_) return;
    lock.unlock();
    task_();  // run() waits: nobody else touches it
    lock.lock();
    task_ = nullptr;
    changed_.notify_all();
  }
}

}  // namespace pqedge::edge
